"""Judgements of a reranker as JSON-plain values and back, and a reranker that was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, StrictFloat, StrictInt, StrictStr, ValidationError

from ..errors import InputError
from ..ports import Judgement, Judgements
from ..text.redaction import redact
from .codec import to_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import JudgedPage
    from .replaying import ReplayingCassette


class _Judgement(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    relevance: StrictFloat | StrictInt
    reason: StrictStr | None = None


class _Judgements(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    pages: list[_Judgement | None]
    model: StrictStr
    input_tokens: StrictInt | None = None
    output_tokens: StrictInt | None = None
    cost_usd: StrictFloat | StrictInt | None = None


def judging_request(question: str, pages: Sequence[JudgedPage]) -> dict[str, Any]:
    """Return the request of judgements.

    >>> from collection_search.ports import JudgedPage
    >>> judging_request("Is tea hot?", [JudgedPage("Tea", "Hot.", "https://a.org/")])["pages"]
    [{'title': 'Tea', 'text': 'Hot.', 'url': 'https://a.org/'}]
    """
    rows = [{"title": page.title, "text": page.text, "url": page.url} for page in pages]
    request: dict[str, Any] = to_plain({"question": question, "pages": rows})
    return request


def judgements_answer(made: Any) -> dict[str, Any]:
    """Return a reranker's judgements. Raises InputError for anything else.

    A relevance that is no finite number is left out: its page counts as not judged.
    """
    if not isinstance(made, Judgements):
        raise InputError(f"{type(made).__name__} came instead of Judgements.")
    told = {
        "pages": [_judgement_answer(one) for one in made.pages],
        "model": made.model,
        "input_tokens": made.input_tokens,
        "output_tokens": made.output_tokens,
        "cost_usd": made.cost_usd,
    }
    plain: dict[str, Any] = to_plain(told)
    return plain


def _judgement_answer(one: Judgement | None) -> dict[str, Any] | None:
    if one is None or to_plain(one.relevance) is None:
        return None
    return {"relevance": one.relevance, "reason": one.reason}


def read_judgements_answer(given: Any) -> Judgements:
    """Return what `judgements_answer` encoded. Raises InputError for another form."""
    try:
        read = _Judgements.model_validate(given)
    except ValidationError as error:
        where = error.errors(include_url=False, include_input=False)[0]["loc"]
        place = str(where[0]) if where else "it"
        raise InputError(f"{place} of the judgements has not the right form.") from error
    pages = [None if one is None else Judgement(one.relevance, one.reason) for one in read.pages]
    return Judgements(pages, read.model, read.input_tokens, read.output_tokens, read.cost_usd)


class ReplayedReranker:
    """A reranker that was recorded."""

    def __init__(self, name: str, cassette: ReplayingCassette) -> None:
        self.reranker_name = name
        self._cassette = cassette

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Judgements:
        """Return or raise what the reranker did."""
        what = f"judgements of {len(pages)} pages for {redact(question, most=120)!r}"
        request = judging_request(question, pages)
        return self._cassette.play("judge", self.reranker_name, request, what)  # type: ignore[no-any-return]
