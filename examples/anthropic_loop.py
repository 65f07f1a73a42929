"""A plain tool loop over Anthropic's messages, without a framework.

```
python examples/anthropic_loop.py "How do I cancel an asyncio task?" --model claude-sonnet-5-5
python examples/anthropic_loop.py --offline
```
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from program import require_message, run_program
from scripted import CITE, Call

from collection_search import answer_anthropic_call, anthropic_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anthropic import AsyncAnthropic
    from transcript import Transcript

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
    question: str,
    client: AsyncAnthropic,
    model: str,
    context: SearchContext,
    transcript: Transcript,
) -> str:
    """Return the model's answer, after as many calls of tools as it makes."""
    messages: list[Any] = [{"role": "user", "content": question}]
    for _ in range(MAX_TURNS):
        message = require_message(
            await client.messages.create(
                model=model,
                system=INSTRUCTIONS,
                messages=messages,
                tools=TOOLS,
                max_tokens=MAX_TOKENS,
            )
        )
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            texts = [block.text for block in message.content if block.type == "text"]
            return "\n".join(texts)
        replies = []
        for call in calls:
            transcript.show_call(call.name, call.input)
            replies.append(await answer_anthropic_call(call, context))
            transcript.show_result(replies[-1]["content"])
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": replies})
    raise SystemExit(f"error: There is no answer after {MAX_TURNS} turns.")


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    with run_program(__doc__, given, vendor="anthropic") as program:
        from anthropic import AsyncAnthropic

        client = AsyncAnthropic(**program.client_options(*SCRIPT))
        asked = answer(program.question, client, program.model, program.context, program.transcript)
        program.transcript.show_answer(asyncio.run(asked))


if __name__ == "__main__":
    main()
