"""A model without tool calling: it writes a line with an arrow where it wants to search.

```
python examples/arrow_loop.py "How do I cancel an asyncio task?" --model ollama:gemma3
python examples/arrow_loop.py --offline
```
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from program import run_program
from scripted import CITE

from collection_search import WebSearchService
from collection_search.tools.arrow import answer_arrow, arrow_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel
    from transcript import Transcript

MAX_TURNS = 8
INSTRUCTIONS = (
    "You can search the web: write a line such as\n"
    '→ search "react native performance" depth:deep max:3\n'
    "and nothing else. The next message has the results. When you know enough, answer from the"
    " results alone. After each statement write the URL of its source in angle brackets."
)
SCRIPT = ('Let me look.\n→ search "asyncio task timeout cancel" depth:deep max:3', CITE)


async def answer(
    question: str, model: BaseChatModel, service: WebSearchService, transcript: Transcript
) -> str:
    """Return the model's answer, after as many searches as it asks for."""
    messages: list[Any] = [("system", INSTRUCTIONS), ("user", question)]
    for _ in range(MAX_TURNS):
        text = (await model.ainvoke(messages)).text
        lines = arrow_lines(text)
        if not lines:
            return text
        replies = []
        for line in lines:
            transcript.show_call(line)
            replies.append(await answer_arrow(service, line))
            transcript.show_result(replies[-1])
        messages += [("assistant", text), ("user", "\n\n".join(replies))]
    raise SystemExit(f"error: There is no answer after {MAX_TURNS} turns.")


def main(given: Sequence[str] | None = None) -> None:
    """Answer one question."""
    with run_program(__doc__, given) as program:
        model = program.chat_model(*SCRIPT)
        service = WebSearchService(program.settings)
        asked = answer(program.question, model, service, program.transcript)
        program.transcript.show_answer(asyncio.run(asked))


if __name__ == "__main__":
    main()
