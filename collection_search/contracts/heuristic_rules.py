"""Rules by which a tenant's own heuristics change the scores of pages."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from .options import Domain

PageLanguage: TypeAlias = Literal[
    "ar", "bn", "de", "el", "en", "he", "hi", "hy", "ja", "ka", "ko", "ru", "ta", "th", "zh"
]
"""Languages that pages are told apart by; those of one script other than Latin count as one."""
MAX_HOSTS: Final = 1000
MAX_TRUSTED_POINTS: Final = 20.0
MAX_FRESHNESS_POINTS: Final = 10.0
MAX_LANGUAGE_POINTS: Final = 20.0

_Hosts = Annotated[tuple[Domain, ...], Field(max_length=MAX_HOSTS)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Weight = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class _Rules(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class OwnWeights(_Rules):
    """Weights of the score's parts; what is left out has its usual weight."""

    embedding_share: _Share = 0.6
    """Share of the embedding score; the heuristic score has the rest."""
    title: _Weight = 30
    coverage: _Weight = 20
    """The heuristic score is divided between title and coverage in this proportion."""
    address: _Weight = 20
    """Most that the address takes off the heuristic score."""


class HeuristicRules(_Rules):
    """What changes a page's score beside the question; what is left out changes nothing.

    A host is named with or without its subdomains' `*.`: the host and all below it are meant.
    """

    trusted_hosts: _Hosts = ()
    trusted_points: Annotated[float, Field(ge=0, le=MAX_TRUSTED_POINTS)] = 10.0
    """Points that a page of a trusted host gains."""
    blocked_hosts: _Hosts = ()
    """Pages of these hosts rank last and are never ingested without a person's decision."""
    freshness_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """A page that was published within these days gains points, an older one loses them."""
    freshness_points: Annotated[float, Field(ge=0, le=MAX_FRESHNESS_POINTS)] = 5.0
    language: PageLanguage | None = None
    """A page that is clearly in another language loses points."""
    language_points: Annotated[float, Field(ge=0, le=MAX_LANGUAGE_POINTS)] = 10.0
    weights: OwnWeights | None = None
    """In place of the usual weights; the profile `literal` keeps its own."""
