"""A plain tool loop over OpenAI's chat completions, without a framework.

```
python examples/openai_loop.py "How do I cancel an asyncio task?" --model gpt-5.4-mini
python examples/openai_loop.py --base-url http://localhost:11434/v1 --model qwen3
python examples/openai_loop.py --offline
```
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from arguments import read_arguments
from citations import show_answer
from openai import AsyncOpenAI
from scripted import CITE, Call, Script
from scripted_server import ScriptedServer

from collection_search import answer_openai_call, openai_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search import SearchContext

MAX_TURNS = 8
INSTRUCTIONS = (
    "Answer from the results of your tools alone. After each statement write the URL of its source"
    " in angle brackets."
)
TOOLS: list[Any] = [openai_tool("web_search"), openai_tool("read_page")]
SCRIPT = (Call("web_search", {"query": "asyncio task timeout cancel", "max_results": 3}), CITE)


async def answer(
    question: str, client: AsyncOpenAI, model: str, context: SearchContext
) -> tuple[str, list[str]]:
    """Return the answer and the results that the model has seen."""
    messages: list[Any] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": question},
    ]
    results: list[str] = []
    for _ in range(MAX_TURNS):
        completion = await client.chat.completions.create(
            model=model, messages=messages, tools=TOOLS
        )
        message = completion.choices[0].message
        if not message.tool_calls:
            return message.content or "", results
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            reply = await answer_openai_call(call.model_dump(), context)
            messages.append(reply)
            results.append(reply["content"])
    raise SystemExit(f"There is no answer after {MAX_TURNS} turns.")


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    arguments = read_arguments(__doc__, given)
    with ExitStack() as stack:
        options: dict[str, Any] = {"base_url": arguments.base_url}
        if arguments.offline:
            server = stack.enter_context(ScriptedServer(Script(*SCRIPT)))
            options = {"base_url": f"{server.base_url}/v1", "api_key": "none"}
        client = AsyncOpenAI(**options)
        asked = answer(arguments.question, client, arguments.model, arguments.context())
        show_answer(*asyncio.run(asked))


if __name__ == "__main__":
    main()
