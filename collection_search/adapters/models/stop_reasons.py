"""Why a model stopped without a usable answer: its refusal, a content filter, a limit of tokens."""

from __future__ import annotations

import re
from typing import Any, Final

from ..refusals import http_status_of


class Declined(Exception):  # noqa: N818 - no failure of the program
    """The model declined to answer; the message is its reason."""


class Filtered(Exception):  # noqa: N818 - no failure of the program
    """A content filter of the endpoint stopped the question or the answer; the message is why."""


class CutOff(ValueError):  # noqa: N818 - no failure of the program
    """The answer ended at a limit of tokens before it could be used."""


_FILTERED: Final = re.compile(
    r"content_filter|safety|image_safety|recitation|blocklist|prohibited_content|spii"
    r"|guardrail_intervened|error_toxic|sensitive",
    re.IGNORECASE,
)
"""Beginnings of reasons to stop: of OpenAI and Azure, Google, Bedrock, Cohere and Zhipu."""
_CUT_OFF: Final = frozenset(
    {"length", "max_tokens", "model_length", "model_context_window_exceeded"}
)
_FILTER_WORDS: Final = re.compile(
    r"content[_ -]?filter|content management policy|content[_ ]policy|responsible\s?ai\s?policy"
    r"|prohibited_content|data_inspection_failed|blocked due to safety|input was flagged"
    r"|response was blocked|prompt was blocked",
    re.IGNORECASE,
)


def raise_if_stopped(reason: Any, refusal: Any = None) -> None:
    """Raise Declined or Filtered where the model gave a refusal or this reason to stop."""
    if isinstance(refusal, str) and refusal:
        raise Declined(refusal)
    if not isinstance(reason, str):
        return
    if reason == "refusal":
        raise Declined("it gives no reason")
    if _FILTERED.match(reason):
        raise Filtered(f"it stopped with {reason!r}")


def is_cut_off(reason: Any) -> bool:
    """Return whether the answer ended at a limit of tokens.

    >>> is_cut_off("MAX_TOKENS"), is_cut_off("stop"), is_cut_off(None)
    (True, False, False)
    """
    return isinstance(reason, str) and reason.lower() in _CUT_OFF


def is_filter(error: BaseException) -> bool:
    """Return whether an endpoint's error says that its content filter stopped the request."""
    if isinstance(error, Filtered):
        return True
    if not isinstance(error, Exception) or http_status_of(error) not in {None, 400, 403, 422}:
        return False
    return bool(_FILTER_WORDS.search(f"{getattr(error, 'code', '')} {error}"))
