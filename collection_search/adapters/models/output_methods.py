"""The methods of structured output, from the strictest to the most widely supported one."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

OutputMethod = Literal["json_schema", "function_calling", "json_mode"]

WEAKER: Final[dict[OutputMethod, OutputMethod]] = {
    "json_schema": "function_calling",
    "function_calling": "json_mode",
}
"""The method to try after one that was refused."""

# How endpoints word it when they lack a method; llama.cpp does so with status 500.
REFUSAL_STATUS: Final = frozenset({400, 404, 422, 500, 501})
_WORDS = re.compile(
    r"response_format|response format|json_schema|json_object|structured output"
    r"|\btools?\b|tool_choice|function call",
    re.IGNORECASE,
)


class Tokens(NamedTuple):
    """The tokens of all answers to one request; None where one of them does not report any."""

    input: int | None = 0
    output: int | None = 0

    def plus(self, other: Tokens) -> Tokens:
        """Return the sum of both.

        >>> Tokens(1, 2).plus(Tokens(3, None))
        Tokens(input=4, output=None)
        """
        return Tokens(_sum(self.input, other.input), _sum(self.output, other.output))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def refuses_method(status: int | None, message: str) -> bool:
    """Return whether a refusal means that the endpoint lacks the method.

    >>> refuses_method(400, "This model does not support tools."), refuses_method(400, "Too long.")
    (True, False)
    """
    return status in REFUSAL_STATUS and bool(_WORDS.search(message))
