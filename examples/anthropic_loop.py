"""A plain tool loop over Anthropic's messages, without a framework.

```
python examples/anthropic_loop.py "How do I cancel an asyncio task?" --model claude-sonnet-5-5
python examples/anthropic_loop.py --offline
```
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from anthropic import AsyncAnthropic
from arguments import read_arguments
from citations import show_answer
from scripted import CITE, Call, Script
from scripted_server import ScriptedServer

from collection_search import answer_anthropic_call, anthropic_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search import SearchContext

MAX_TURNS = 8
MAX_TOKENS = 2_000
INSTRUCTIONS = (
    "Answer from the results of your tools alone. After each statement write the URL of its source"
    " in angle brackets."
)
TOOLS: list[Any] = [anthropic_tool("web_search"), anthropic_tool("read_page")]
SCRIPT = (Call("web_search", {"query": "asyncio task timeout cancel", "max_results": 3}), CITE)


async def answer(
    question: str, client: AsyncAnthropic, model: str, context: SearchContext
) -> tuple[str, list[str]]:
    """Return the answer and the results that the model has seen."""
    messages: list[Any] = [{"role": "user", "content": question}]
    results: list[str] = []
    for _ in range(MAX_TURNS):
        message = await client.messages.create(
            model=model,
            system=INSTRUCTIONS,
            messages=messages,
            tools=TOOLS,
            max_tokens=MAX_TOKENS,
        )
        calls = [block.model_dump() for block in message.content if block.type == "tool_use"]
        if not calls:
            texts = [block.text for block in message.content if block.type == "text"]
            return "\n".join(texts), results
        replies = [await answer_anthropic_call(call, context) for call in calls]
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": replies})
        results += [reply["content"] for reply in replies]
    raise SystemExit(f"There is no answer after {MAX_TURNS} turns.")


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    arguments = read_arguments(__doc__, given)
    with ExitStack() as stack:
        options: dict[str, Any] = {"base_url": arguments.base_url}
        if arguments.offline:
            server = stack.enter_context(ScriptedServer(Script(*SCRIPT)))
            options = {"base_url": server.base_url, "api_key": "none"}
        client = AsyncAnthropic(**options)
        asked = answer(arguments.question, client, arguments.model, arguments.context())
        show_answer(*asyncio.run(asked))


if __name__ == "__main__":
    main()
