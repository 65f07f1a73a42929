"""What a run may choose: names in JSON, live objects in Python; the settings give the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, InstanceOf, field_validator
from pydantic.json_schema import SkipJsonSchema

from ..contracts.page_choice import PageChoice
from ..ports import IngestionTrigger, PageReader, SearchMetrics, SpanSink, Storage
from ..ports.http_client import HttpClient
from ..ports.usage import UsageStore
from .identity import RunIdentity
from .ranking_table import RankingProfile
from .table import NotNegative


class RunChoices(RunIdentity):
    """Provider, model, embedder, store, limits and tracing of one run."""

    provider: str | SkipJsonSchema[Any] | None = Field(
        default=None, description="Search provider; auto takes the first usable one."
    )
    model: str | SkipJsonSchema[Any] | None = Field(
        default=None, description="Chat model of plans and answers, as provider:model."
    )
    embeddings: str | SkipJsonSchema[Any] | None = Field(
        default=None, description="Embedder, as provider:model; lexical needs no model."
    )
    ensemble: str | list[SkipJsonSchema[Any]] | None = Field(
        default=None,
        description="Further embedders that rank pages, separated by spaces; three in all.",
    )
    ranking_profile: RankingProfile | None = Field(
        default=None, description="default: calibrated scores; literal: raw 0.6/0.4 arithmetic."
    )
    reranker: str | SkipJsonSchema[Any] | None = Field(
        default=None, description="Judge of premium: model (the chat model), local:FOLDER or none."
    )
    search_purpose: bool | None = Field(
        default=None,
        description="Whether the words of the purpose are searched for; by default the setting.",
    )
    max_cost_usd: NotNegative | None = Field(
        default=None,
        description="Ceiling of what the run may cost, in US dollars; a server has its own.",
    )
    http_client: HttpClient = None
    """Your own `httpx.AsyncClient` for all calls to providers, models and embedders of this
    package; only the safe fetch reads pages of the web."""
    store: SkipJsonSchema[InstanceOf[Storage] | None] = None
    """Staging, ledger and collections; by default the embedded SQLite database."""
    trigger: SkipJsonSchema[InstanceOf[IngestionTrigger] | None] = None
    """Starts ingestions in the host's own way; by default the graph `universal_ingestion`."""
    reader: SkipJsonSchema[InstanceOf[PageReader] | None] = None
    """Reads pages of the web; by default the safe fetch of the settings."""
    ingests: SkipJsonSchema[bool] = True
    """False: accepted pages are left to the workers of other processes."""
    usage_store: SkipJsonSchema[InstanceOf[UsageStore] | None] = None
    """Cached answers, quotas and spending; by default an SQLite file beside the collections."""
    spans: SkipJsonSchema[InstanceOf[SpanSink] | None] = None
    search_metrics: SkipJsonSchema[InstanceOf[SearchMetrics] | None] = None
    """Counts searches and what they cost; by default as the settings say."""
    model_optional: SkipJsonSchema[bool] = True
    """False: a run whose chat model refuses the key ends with that error before it searches."""
    asks_anew: SkipJsonSchema[bool] = False
    """True: cached answers are not used again."""
    page_choice: SkipJsonSchema[InstanceOf[PageChoice]] = PageChoice()
    """The pages that may be ingested, where a refresh asks a question again."""

    @field_validator("ensemble")
    @classmethod
    def _names_or_objects(cls, value: Any) -> Any:
        for each in value if isinstance(value, list) else ():
            cls._name_or_object(each)
        return value

    @field_validator("provider", "model", "embeddings", "reranker")
    @classmethod
    def _name_or_object(cls, value: Any) -> Any:
        if isinstance(value, type):
            raise ValueError(f"{value.__name__} is a class: give an instance")  # noqa: TRY004
        if isinstance(value, Mapping | list | int | float):
            raise ValueError("give a name, or a live object in Python")  # noqa: TRY004 - pydantic
        return value
