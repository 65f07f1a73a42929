"""An agent of LangChain's that collects pages about a question and answers from them.

```
python examples/agent.py "How do I cancel an asyncio task?" --model openai:gpt-5.4-mini
python examples/agent.py --offline
```
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from arguments import QUESTION, read_arguments
from citations import show_answer
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import ToolMessage
from scripted import CITE, Call, Script, ScriptedModel

from collection_search import (
    CollectionSearchTool,
    RetrieveTool,
    SearchContext,
    WebSearchTool,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

COLLECTION = "examples"
INSTRUCTIONS = (
    f"Answer from the results of your tools alone. Collect pages about the question into the"
    f" collection '{COLLECTION}', and retrieve passages from it; search the web for what they lack."
    " After each statement write the URL of its source in angle brackets."
)
SCRIPT = (
    Call("web_search", {"query": "asyncio task timeout cancel", "max_results": 3}),
    Call("collection_search", {"question": QUESTION, "collection": COLLECTION, "max_pages": 3}),
    Call("retrieve", {"question": QUESTION, "collection": COLLECTION, "k": 4}),
    CITE,
)


async def answer(
    question: str, model: BaseChatModel, context: SearchContext
) -> tuple[str, list[str]]:
    """Return the answer and the results that the model has seen."""
    agent = create_agent(
        model,
        [WebSearchTool(), CollectionSearchTool(), RetrieveTool()],
        system_prompt=INSTRUCTIONS,
        context_schema=SearchContext,
    )
    state = await agent.ainvoke({"messages": [("user", question)]}, context=context)
    messages = state["messages"]
    results = [str(one.content) for one in messages if isinstance(one, ToolMessage)]
    return messages[-1].text, results


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    arguments = read_arguments(__doc__, given)
    model: BaseChatModel
    if arguments.offline:
        model = ScriptedModel(script=Script(*SCRIPT))
    else:
        model = init_chat_model(arguments.model, base_url=arguments.base_url)
    show_answer(*asyncio.run(answer(arguments.question, model, arguments.context())))


if __name__ == "__main__":
    main()
