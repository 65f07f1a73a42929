"""A model without tool calling: it writes a line with an arrow where it wants to search.

```
python examples/arrow_loop.py "How do I cancel an asyncio task?" --model ollama:gemma3
python examples/arrow_loop.py --offline
```
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from arguments import read_arguments
from citations import show_answer
from langchain.chat_models import init_chat_model
from scripted import CITE, Script, ScriptedModel

from collection_search import WebSearchService
from collection_search.tools.arrow import answer_arrow, arrow_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

MAX_TURNS = 8
INSTRUCTIONS = (
    "You can search the web: write a line such as\n"
    '→ search "react native performance" depth:deep max:3\n'
    "and nothing else. The next message has the results. When you know enough, answer from the"
    " results alone. After each statement write the URL of its source in angle brackets."
)
SCRIPT = ('Let me look.\n→ search "asyncio task timeout cancel" depth:deep max:3', CITE)


async def answer(
    question: str, model: BaseChatModel, service: WebSearchService
) -> tuple[str, list[str]]:
    """Return the answer and the results that the model has seen."""
    messages: list[Any] = [("system", INSTRUCTIONS), ("user", question)]
    results: list[str] = []
    for _ in range(MAX_TURNS):
        text = (await model.ainvoke(messages)).text
        lines = arrow_lines(text)
        if not lines:
            return text, results
        replies = await asyncio.gather(*(answer_arrow(service, line) for line in lines))
        results += replies
        messages += [("assistant", text), ("user", "\n\n".join(replies))]
    raise SystemExit(f"There is no answer after {MAX_TURNS} turns.")


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    arguments = read_arguments(__doc__, given)
    model: BaseChatModel
    if arguments.offline:
        model = ScriptedModel(script=Script(*SCRIPT))
    else:
        model = init_chat_model(arguments.model, base_url=arguments.base_url)
    service = WebSearchService(arguments.settings())
    show_answer(*asyncio.run(answer(arguments.question, model, service)))


if __name__ == "__main__":
    main()
