"""The methods of structured output, from the strictest to the most widely supported one."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

OutputMethod = Literal["json_schema", "function_calling", "json_mode", "prompt"]
"""`prompt`: the words of the prompt alone ask for JSON, which any endpoint understands."""

WEAKER: Final[dict[OutputMethod, OutputMethod]] = {
    "json_schema": "function_calling",
    "function_calling": "json_mode",
    "json_mode": "prompt",
}
"""The method to try after one that was refused."""
MAX_WORDY_ANSWERS: Final = 2
"""Answers without JSON that one plan pays for: each further method would bring the same."""

# How endpoints word it when they lack a method; llama.cpp does so with status 500.
REFUSAL_STATUS: Final = frozenset({400, 404, 422, 500, 501})
_UNBUILT: Final = 501
_WORDS = re.compile(
    r"response_format|response format|json_schema|json_object|json mode|structured[_ ]output"
    r"|output_format|output format|output_config|response_?schema|response_mime_type"
    r"|\btools?\b|tool_choice|tool_use|function call|call a function|\bfunctions?\b.*not supported"
    r"|requested parameters|guided_json|\bgrammar\b"
    # an option of the request that is not known there, whatever it is called
    r"|extra (?:inputs|fields)|extra_forbidden|additional propert"
    r"|(?:unrecogni[sz]ed|unknown|unexpected|unsupported|invalid) (?:\w+ )?"
    r"(?:argument|parameter|field|property|key|name|option)\b",
    re.IGNORECASE,
)
_ATTEMPTED = re.compile(
    r"failed_generation|failed to (?:generate json|call a function)", re.IGNORECASE
)
"""How Groq says that the model made an answer of another form."""


class UnreadableAnswerError(ValueError):
    """A vendor's library could not read the model's answer: the call itself did not fail."""


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


UNKNOWN: Final = Tokens(None, None)


class ModelRequests:
    """The requests of one call: what their answers cost, and what refused the first method."""

    def __init__(self) -> None:
        self.spent = Tokens()
        """Of all answers so far."""
        self.answers = 0
        """Answers that were billed."""
        self.under_way = 0
        """Requests whose end is not known: cut off, failed, or still waiting."""
        self.refusal: Exception | None = None
        """The first refusal of a method that says something."""

    def begin(self) -> None:
        """Count a request that is sent."""
        self.under_way += 1

    def pay(self, tokens: Tokens) -> None:
        """Count the answer to a request."""
        self.drop()
        self.answers += 1
        self.spent = self.spent.plus(tokens)

    def drop(self) -> None:
        """Count a request that was refused, and that nobody pays for."""
        self.under_way = max(self.under_way - 1, 0)

    def refuse(self, error: Exception) -> None:
        """Count the refusal of a method; only an attempt that failed on the way costs anything."""
        self.drop()
        if _ATTEMPTED.search(str(error)):
            self.answers += 1
            self.spent = self.spent.plus(UNKNOWN)
        if self.refusal is None and str(error).strip():
            self.refusal = error


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def refuses_method(status: int | None, message: str) -> bool:
    """Return whether a refusal means that the endpoint lacks the method.

    >>> refuses_method(400, "This model does not support tools."), refuses_method(400, "Too long.")
    (True, False)
    """
    known = status in REFUSAL_STATUS and bool(_WORDS.search(message))
    return known or status == _UNBUILT
