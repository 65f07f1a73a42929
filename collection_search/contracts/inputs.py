"""Inputs of the graphs: validated before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from .criteria import Criteria
from .search import Identifier, Name, NormalizedQuery, NormalizedUrl
from .state import QualityMode


class GraphInput(BaseModel):
    """The specified fields of the collection search graph's input."""

    model_config = ConfigDict(extra="forbid")

    question: NormalizedQuery = Field(
        min_length=1,
        max_length=2000,
        description="What you want to know.",
        examples=["How do I cancel an asyncio task after a timeout?"],
    )
    collection_scope: Name = Field(
        description="The collection that the pages go into.", examples=["software_docs"]
    )
    quality_mode: QualityMode = Field(
        default="standard",
        description="premium: five queries, deep search, more results, unsure pages judged.",
    )
    max_candidates: int = Field(
        default=20, ge=5, le=40, description="How many ranked results to return."
    )
    purpose: Identifier = Field(
        default="collection_search",
        description=(
            "What the search is for. Its words are searched for too, unless search_purpose is"
            " off: leave out names of people and clients."
        ),
        examples=["collection_search"],
    )
    auto_ingest: bool = Field(
        default=False, description="Ingest the best results without asking a person."
    )
    auto_ingest_top_k: int = Field(
        default=10, ge=1, le=20, description="How many results are ingested at most."
    )
    auto_ingest_min_score: float = Field(
        default=60.0,
        ge=0,
        le=100,
        description="Score that a result needs; 50 is tried when fewer than three reach it.",
    )


class SearchInput(GraphInput):
    """Validated input of the collection search graph: the specified fields, and two filters."""

    is_pdf: bool | None = Field(
        default=None,
        description="true: PDFs only; false: everything else; by default both.",
        examples=[True],
    )
    criteria: Criteria = Field(
        default_factory=list,
        description="Up to five conditions that every page must meet; a model judges them.",
        examples=[["It names a price"]],
    )


class RoundsInput(SearchInput):
    """Validated input of the search graph with a coverage check."""

    max_rounds: int = Field(
        default=0,
        ge=0,
        le=3,
        description="Searches for what the collection does not answer yet, after the first one.",
    )


class ReviewInput(RoundsInput):
    """Validated input of the collection review graph."""

    @model_validator(mode="after")
    def _asks_a_person(self) -> ReviewInput:
        if self.auto_ingest:
            raise ValueError(
                "auto_ingest is for the graph collection_search: here a person decides"
            )
        return self


class PreselectedResult(BaseModel):
    """A page that was chosen before; may be given as a ranked result or as a URL alone."""

    model_config = ConfigDict(frozen=True)

    url: NormalizedUrl = Field(
        description="Address of the page.",
        examples=["https://docs.python.org/3/library/asyncio-task.html"],
    )
    title: str = Field(
        default="", description="Title of the page.", examples=["Coroutines and Tasks"]
    )
    snippet: str = Field(default="", description="What the search showed of the page's text.")
    is_pdf: bool | None = Field(
        default=None,
        description="Whether the page is a PDF; by default its URL tells.",
        examples=[False],
    )
    content_ref: str | None = Field(
        default=None,
        description=(
            "The page's text, if it is staged; a result of a run has it. One that is not staged any"
            " more, after a day, is fetched."
        ),
        examples=["sha256:..."],
    )
    provenance: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Why the page was chosen: stored with the document.",
        examples=[{"query": "cancel asyncio task", "provider": "offline"}],
    )

    @model_validator(mode="before")
    @classmethod
    def _from_parts(cls, given: Any) -> Any:
        """Accept a URL alone, and copy the facts of a result into its provenance."""
        if isinstance(given, str):
            return {"url": given}
        if not isinstance(given, Mapping):
            return given
        said = {name: given[name] for name in _SAID if given.get(name) is not None}
        return {**given, "provenance": {**said, **(given.get("provenance") or {})}}


_SAID = (
    "query",
    "provider",
    "source",
    "published_date",
    "embedding_rank_score",
    "embedding_similarity",
    "heuristic_score",
)


class IngestionInput(BaseModel):
    """Validated input of the universal ingestion graph."""

    model_config = ConfigDict(extra="forbid")

    source: Literal["search", "preselected"] | None = Field(
        default=None,
        description="Where the pages come from; none for a staged session.",
        examples=["search"],
    )
    mode: Literal["acquire_only", "acquire_and_ingest"] = Field(
        default="acquire_and_ingest",
        description="acquire_only stages the pages; they can be ingested later.",
    )
    collection_scope: Name = Field(
        description="The collection that the pages go into.", examples=["software_docs"]
    )
    query: NormalizedQuery | None = Field(
        default=None,
        min_length=1,
        max_length=2000,
        description="What to search the web for; source search needs it.",
        examples=["cancel an asyncio task after a timeout"],
    )
    preselected_results: list[PreselectedResult] = Field(
        default_factory=list,
        max_length=1000,
        description=(
            "The pages of source preselected: URLs, or results of a run, which keep their text and"
            " their provenance."
        ),
        examples=[[{"url": "https://docs.python.org/3/library/asyncio-task.html"}]],
    )
    session_id: Identifier | None = Field(
        default=None,
        description="A staged session that is to be ingested now; it stands alone.",
        examples=["session-..."],
    )
    max_results: int = Field(
        default=10, ge=1, le=40, description="Pages of a search, and of top_k."
    )
    min_snippet_chars: int = Field(
        default=40,
        ge=0,
        le=10_000,
        description="Found pages without a text need a snippet as long as that.",
    )
    is_pdf: bool | None = Field(
        default=None,
        description="true: PDFs only; false: everything else; by default both.",
        examples=[True],
    )
    selection: Literal["top_k", "all"] | None = Field(
        default=None,
        description="By default top_k of what was found, all of what was preselected.",
        examples=["top_k"],
    )

    @model_validator(mode="after")
    def _is_one_thing(self) -> IngestionInput:
        if self.session_id is not None:
            if self.source or self.query or self.preselected_results:
                raise ValueError("session_id stands alone: the session has its pages")
            if self.mode != "acquire_and_ingest":
                raise ValueError("session_id needs the mode acquire_and_ingest")
            return self
        if self.source is None:
            raise ValueError("give a source, or the session_id of staged pages")
        if self.source == "search" and (self.query is None or self.preselected_results):
            raise ValueError("source search needs a query, and no preselected_results")
        if self.source == "preselected" and (not self.preselected_results or self.query):
            raise ValueError("source preselected needs preselected_results, and no query")
        return self
