"""The settings of the ranking and of what it lets through; `table` has all others."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings

from ..contracts.criteria import UnclearPages
from .tenant_heuristics import TenantHeuristics

RankingProfile = Literal["default", "literal"]
ComparedProfile = Literal["default", "literal", "words"]
"""`words`: the default without the model's similarities."""


class RankingTable(BaseSettings):
    """One field per setting; other modules use `Settings`."""

    embeddings: str = Field(
        default="lexical", description="Embedder, as provider:model; lexical needs no model."
    )
    ensemble: str | None = Field(
        default=None,
        description="Further embedders beside it, by spaces; three in all. The mean ranks pages.",
    )
    ranking_profile: RankingProfile = Field(
        default="default",
        description="default: calibrated scores; literal: the raw 0.6/0.4 arithmetic.",
    )
    compare_profile: ComparedProfile | None = Field(
        default=None,
        description="Second profile that ranks the same results and decides nothing: default,"
        " literal, or words (default without the model); see docs/guides/evaluation.md.",
    )
    heuristics: TenantHeuristics | None = Field(
        default=None,
        description=(
            "Trusted and blocked hosts, freshness, language and own weights of the score, for all"
            " tenants, one, or one of its collections."
        ),
    )
    reranker: str = Field(
        default="model",
        description="Judge of quality_mode premium: model (the chat model), local:FOLDER, or none.",
    )
    criteria_unclear: UnclearPages = Field(
        default="refuse",
        description="A page that may or may not meet the criteria: keep or refuse it.",
    )
    criteria_on_pages: bool = Field(
        default=False,
        description="Judge a fetched page's text by the criteria before it is stored.",
    )
    adaptive_threshold: bool = Field(
        default=False,
        description="Learn the minimum score of each collection from decisions in its reviews.",
    )
