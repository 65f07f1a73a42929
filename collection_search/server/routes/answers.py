"""Answers of a collection, with the passages that they cite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from ...contracts.answer import AnswerReason, AnswerSentence
from ...contracts.search import NormalizedQuery
from ...ranking.evidence import answering
from ...ranking.excerpts import best_excerpts
from ...runtime.concurrency import offload
from ...tools.answer import aanswer
from ...tools.answers.language_notice import explain_language
from ..access import Viewer  # noqa: TC001 - FastAPI reads it
from ..opened import Base, CollectionName, open_collection

if TYPE_CHECKING:
    from ...contracts.answer import Answer
    from ...contracts.collection import Passage
    from ..opened import OpenedCollection

router = APIRouter(tags=["answers"])

_BEST_CHARS: Final = 400
"""About so much of a passage is shown first."""


class CollectionQuestion(BaseModel):
    """A question to a collection."""

    model_config = ConfigDict(extra="forbid")

    question: NormalizedQuery = Field(description="At most 2000 characters, in one line.")
    k: int = Field(default=8, ge=1, le=100, description="Passages at most.")


class WrittenAnswer(BaseModel):
    """An answer that a model wrote from the passages."""

    text: str = Field(
        description="Markdown: [n] after each sentence names a passage, [no source] none."
    )
    sentences: list[AnswerSentence] = Field(
        description="The same in parts; `citations` are numbers of passages."
    )
    model: str | None
    removed: int = Field(description="Citations that the model wrote and that do not exist.")


class AnswerPart(BaseModel):
    """A sentence or block of a passage."""

    start: int = Field(description="Its place in the passage's text, in characters.")
    end: int


class AnswerPassage(BaseModel):
    """A passage that can be cited."""

    n: int = Field(description="Number by which sentences cite it.")
    url: str
    title: str
    text: str
    best: list[AnswerPart] = Field(description="What answers the question best, in order.")
    section: str | None = Field(description="The heading above it.")
    page: int | None = Field(description="The page of a PDF on which it begins.")
    start: int | None = Field(description="Its place in the text of the document, in characters.")
    end: int | None
    score: float
    evidence: float | None = Field(description="How well it answers the question, 0-100.")
    answers: bool = Field(description="Whether it is good enough to answer from.")
    provenance: dict[str, Any]


class AskedAnswer(BaseModel):
    """What a collection says about a question."""

    question: str
    collection: str
    answer: WrittenAnswer | None = Field(description="Null where no model wrote one.")
    reason: AnswerReason | None = Field(description="Why there is no written answer.")
    note: str | None = Field(
        description="The reason in words, with what to do; also that an answer is cut off."
    )
    passages: list[AnswerPassage] = Field(description="Best first.")
    notices: list[str] = Field(description="What may have kept better passages from being found.")
    cost_usd: float | None = Field(description="Of the model's calls; null where it is not known.")


@router.post("/collections/{name:path}/ask")
async def ask_collection(
    name: CollectionName, caller: Viewer, base: Base, asked: CollectionQuestion
) -> AskedAnswer:
    """Answer a question from a collection: in sentences with citations where a model is set up.

    The passages come with or without a model.
    """
    opened = await open_collection(base, caller, name)
    answer = await aanswer(asked.question, collection=name, k=asked.k, context=opened.context)
    return await offload(_answer, answer, opened)


def _answer(answer: Answer, opened: OpenedCollection) -> AskedAnswer:
    good = {passage.n for passage in answering(answer.passages)}
    written = None
    if answer.outcome == "answered":
        written = WrittenAnswer(
            text=answer.text or "",
            sentences=answer.sentences,
            model=answer.model,
            removed=answer.removed,
        )
    notice = explain_language(
        opened.store.collections, opened.scope, answer.question, answer.passages
    )
    return AskedAnswer(
        question=answer.question,
        collection=opened.scope.collection,
        answer=written,
        reason=answer.reason,
        note=answer.message,
        passages=[_passage(one, answer.question, answers=one.n in good) for one in answer.passages],
        notices=[f"{notice}."] if notice else [],
        cost_usd=answer.cost_usd,
    )


def _passage(passage: Passage, question: str, *, answers: bool) -> AnswerPassage:
    facts = passage.provenance
    section = next(reversed(facts.get("headings") or ()), None)
    best = best_excerpts(
        question, passage.text, title=passage.title, section=section or "", chars=_BEST_CHARS
    )
    return AnswerPassage(
        n=passage.n,
        url=passage.url,
        title=passage.title,
        text=passage.text,
        best=[AnswerPart(start=one.start, end=one.end) for one in best],
        section=section,
        page=facts.get("page"),
        start=facts.get("start"),
        end=facts.get("end"),
        score=passage.score,
        evidence=passage.evidence,
        answers=answers,
        provenance=facts,
    )
