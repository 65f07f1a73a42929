"""An agent of LangChain's that collects pages about a question and answers from them.

```
python examples/agent.py "How do I cancel an asyncio task?" --model openai:gpt-5.4-mini
python examples/agent.py --offline
```
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from program import QUESTION, run_program
from scripted import CITE, Call

from collection_search import (
    CollectionSearchTool,
    RetrieveTool,
    SearchContext,
    WebSearchTool,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel
    from transcript import Transcript

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
    question: str, model: BaseChatModel, context: SearchContext, transcript: Transcript
) -> str:
    """Return the answer of an agent with three tools."""
    from langchain.agents import create_agent

    agent = create_agent(
        model,
        [WebSearchTool(), CollectionSearchTool(), RetrieveTool()],
        system_prompt=INSTRUCTIONS,
        context_schema=SearchContext,
    )
    asked: Any = {"messages": [("user", question)]}
    return await transcript.follow(agent.astream(asked, context=context, stream_mode="updates"))


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    with run_program(__doc__, given) as program:
        model = program.chat_model(*SCRIPT)
        asked = answer(program.question, model, program.context, program.transcript)
        program.transcript.show_answer(asyncio.run(asked))


if __name__ == "__main__":
    main()
