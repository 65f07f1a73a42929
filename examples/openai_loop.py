"""A plain tool loop over OpenAI's chat completions, without a framework.

```
python examples/openai_loop.py "How do I cancel an asyncio task?" --model gpt-5.4-mini
python examples/openai_loop.py --base-url http://localhost:11434/v1 --model qwen3
python examples/openai_loop.py --offline
```
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from program import require_message, run_program
from scripted import CITE, Call

from collection_search import answer_openai_call, openai_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openai import AsyncOpenAI
    from transcript import Transcript

    from collection_search import SearchContext

MAX_TURNS = 8
INSTRUCTIONS = (
    "Answer from the results of your tools alone. After each statement write the URL of its source"
    " in angle brackets."
)
TOOLS: list[Any] = [openai_tool("web_search"), openai_tool("read_page")]
SCRIPT = (Call("web_search", {"query": "asyncio task timeout cancel", "max_results": 3}), CITE)


async def answer(
    question: str,
    client: AsyncOpenAI,
    model: str,
    context: SearchContext,
    transcript: Transcript,
) -> str:
    """Return the model's answer, after as many calls of tools as it makes."""
    messages: list[Any] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": question},
    ]
    for _ in range(MAX_TURNS):
        completion = await client.chat.completions.create(
            model=model, messages=messages, tools=TOOLS
        )
        message = require_message(completion).choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            transcript.show_call(call.function.name, call.function.arguments)
            reply = await answer_openai_call(call, context)
            transcript.show_result(reply["content"])
            messages.append(reply)
    raise SystemExit(f"error: There is no answer after {MAX_TURNS} turns.")


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    with run_program(__doc__, given, vendor="openai") as program:
        from openai import AsyncOpenAI

        client = AsyncOpenAI(**program.client_options(*SCRIPT))
        asked = answer(program.question, client, program.model, program.context, program.transcript)
        program.transcript.show_answer(asyncio.run(asked))


if __name__ == "__main__":
    main()
