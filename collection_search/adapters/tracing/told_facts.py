"""What the work tells of an observation while it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...text.clean import to_unicode
from ...text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...ports import Scalar, SpanKind

MAX_MESSAGE_CHARS: Final = 2000


class ToldFacts:
    """The fields of an observation, and its usage, cost and failure under Langfuse's names."""

    __slots__ = ("facts", "fields", "kind")

    def __init__(self, kind: SpanKind) -> None:
        self.kind: SpanKind = kind
        self.fields: dict[str, Scalar] = {}
        """As they were given: they are masked when they are written."""
        self.facts: dict[str, Any] = {}

    def set(self, fields: Mapping[str, Scalar]) -> None:
        """Add scalar metadata; None values are left out."""
        self.fields |= {name: value for name, value in fields.items() if value is not None}

    def usage(
        self,
        *,
        model: str,
        input_tokens: int | None,
        output_tokens: int | None,
        cost_usd: float | None,
    ) -> None:
        """Add the usage of a model call, or the cost of a tool's."""
        tokens = {"input": input_tokens, "output": output_tokens}
        self.facts |= {
            "model": to_unicode(model),
            "usage_details": {name: count for name, count in tokens.items() if count is not None},
            "cost_details": None if cost_usd is None else {"total": cost_usd},
        }

    def fail(self, kind: str, message: str) -> None:
        """Mark the observation as failed."""
        self.facts |= told_failure(kind, message)

    def note_exception(self, error: BaseException | None) -> None:
        """Mark the observation by the exception that ended it, unless a failure was told before."""
        if error is None or "level" in self.facts:
            return
        if isinstance(error, Exception):
            self.fail(type(error).__name__, str(error))
        else:  # cancelled or interrupted from outside
            self.facts |= told_failure(type(error).__name__, "", is_error=False)


def told_failure(kind: str, message: str, *, is_error: bool = True) -> dict[str, Any]:
    """Return level and message, masked and cut."""
    status = f"{kind}: {message}" if is_error else kind
    level = "ERROR" if is_error else "WARNING"
    return {"level": level, "status_message": redact(status, most=MAX_MESSAGE_CHARS)}
