"""The table of settings: names, types, defaults and descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import platformdirs
from pydantic import (
    AfterValidator,
    AliasChoices,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_settings import SettingsConfigDict

from ..contracts.review import DeadlinePolicy
from ..contracts.search import Name
from ..text.validation import require_form
from .engine_addresses import BrokerAddress, PostgresAddress
from .function_settings import FunctionEntry
from .host_addresses import HostPort, ProxyAddress
from .local_paths import LocalFolder, LocalPath
from .page_parsers import PageParsers
from .price_settings import PriceTable
from .provider_access import Address, ProviderAccess
from .ranking_table import RankingTable
from .server_table import Listed, ListOf, ServerTable

PREFIX: Final = "COLLECTION_SEARCH_"
WEB_SEARCH_ENTRY: Final = "web_search"
"""Entry of the map `providers` that is a function tool."""


def _vendor(field: str, *names: str, default: Any = None, **options: Any) -> Any:
    """Return a field that vendors' own variables set too; its name is needed for our own."""
    alias = AliasChoices(PREFIX + field.upper(), *names)
    return Field(default=default, validation_alias=alias, **options)


NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A finite number from 0."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A finite number above 0."""


MetricsPrefix = Annotated[
    str,
    AfterValidator(
        require_form("([a-zA-Z_:][a-zA-Z0-9_:]*)?", "give letters, digits, _ and :, no digit first")
    ),
]


class SettingsTable(ServerTable, RankingTable, PriceTable):
    """One field per setting; other modules use its subclass `Settings`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
        defer_build=True,  # it is never made itself
    )

    @model_validator(mode="before")
    @classmethod
    def _take_functions(cls, given: Any) -> Any:
        """Move `providers.web_search`, which is a function tool and no vendor, to its own field."""
        providers = given.get("providers") if isinstance(given, Mapping) else None
        if not isinstance(providers, Mapping) or WEB_SEARCH_ENTRY not in providers:
            return given
        vendors = {name: access for name, access in providers.items() if name != WEB_SEARCH_ENTRY}
        return {WEB_SEARCH_ENTRY: providers[WEB_SEARCH_ENTRY], **given, "providers": vendors}

    home: LocalFolder = Field(
        default_factory=lambda: platformdirs.user_data_path("collection-search"),
        description="Folder of the databases; `~` is the user's home folder.",
    )
    database_url: PostgresAddress | None = Field(
        default=None,
        description="PostgreSQL with pgvector for all data, as postgresql://user@host/name;"
        " without it, files in the folder home.",
    )
    broker_url: BrokerAddress | None = Field(
        default=None,
        description="RabbitMQ of ingest_engine celery, as amqp://user:password@host:5672/vhost.",
    )
    tenant: Name = Field(default="local", description="Tenant of the command and of plain calls.")

    default_collection: Name | None = Field(
        default=None,
        description="Collection of the graph research_agent where a run names none, as in a chat.",
    )

    provider: str = Field(
        default="auto",
        description="Search provider; auto takes the first usable one, at last the offline corpus.",
    )
    default_provider: str | None = Field(
        default=None, description="Provider that auto takes if it is usable, before any other."
    )
    providers: dict[str, ProviderAccess] = Field(
        default_factory=dict,
        description=(
            "Keys, addresses and limits of search providers, by name: api_key, base_url,"
            " search_engine_id, rate_per_s, quota, quota_period; json_api describes an endpoint."
        ),
    )
    web_search: FunctionEntry | None = Field(
        default=None,
        description=(
            "The function tool web_search: enabled, and settings with backend, url, max_results;"
            " in the file it stands in the map providers."
        ),
    )
    use_fallback: bool = Field(
        default=False,
        description="Ask the fallback_provider when the first one fails; it may send a bill too.",
    )
    fallback_provider: str = Field(
        default="brave",
        description="Providers that use_fallback asks, if they are configured, separated by spaces:"
        " each one where those before it failed.",
    )
    search_purpose: bool = Field(
        default=True,
        description="Search for the words of a run's purpose too; false sends them to nobody.",
    )
    default_max_results: int = Field(
        default=5, ge=1, le=10, description="Results that the search service returns."
    )
    default_search_depth: Literal["basic", "deep"] = Field(
        default="basic", description="Depth of the search service; deep costs more."
    )
    model: str | None = Field(
        default=None,
        description=(
            "Chat model that plans queries (role analyze) and writes answers, as provider:model."
        ),
    )
    capture_query: Literal["full", "masked", "hash", "none"] = Field(
        default="masked", description="How questions appear in costs and in spans but the tool's."
    )
    capture_tool_query: Literal["full", "masked", "hash", "none"] = Field(
        default="full", description="How queries appear in the tool's own spans; no secrets ever."
    )

    search_timeout_s: Positive = Field(default=10.0, description="Time limit of one search call.")
    search_retry_timeout_s: Positive = Field(
        default=20.0, description="Time limit of the one retry after a timeout."
    )
    run_deadline_s: Positive = Field(
        default=60.0,
        description="Time limit of one query with all its retries, also by a fallback provider.",
    )
    model_timeout_s: Positive = Field(default=30.0, description="Time limit of one model call.")

    relieve_collector: bool = Field(
        default=True,
        description="Let Python's garbage collector run less often after three runs; a process"
        " that has set its collector is left as it is.",
    )

    metrics: bool = Field(
        default=False, description="Count searches, cost and tokens for Prometheus."
    )
    metrics_prefix: MetricsPrefix = Field(
        default="collection_search_",
        max_length=100,
        description="First part of every metric's name.",
    )
    metrics_file: LocalPath | None = Field(
        default=None,
        description=(
            "File that a command writes its metrics to, at its end, and a worker every 15 s;"
            " switches metrics on."
        ),
    )

    max_cost_usd: NotNegative | None = Field(
        default=None, description="Ceiling of what one run may cost, in US dollars."
    )
    answer_cache_s: NotNegative = Field(
        default=3600.0, description="How long a paid answer is used again, in seconds; 0: never."
    )
    answer_cache_mib: int = Field(
        default=256, ge=1, description="Limit of the file of paid answers, in MiB; the oldest go."
    )
    spend_days: int = Field(
        default=400, ge=1, le=36_500, description="Days for which the costs of runs are stored."
    )

    gate_deadline_h: Positive = Field(
        default=24.0, le=8760, description="Hours in which a person can decide a review."
    )
    gate_policy: DeadlinePolicy = Field(
        default="approve",
        description="At its deadline: approve (what reaches the threshold), reject, keep_pending.",
    )

    ingest_engine: Literal["local", "celery"] = Field(
        default="local",
        description="Who ingests: local is the process itself, celery its workers over RabbitMQ.",
    )
    ingest_workers: int = Field(
        default=8, ge=1, le=32, description="Documents that one process ingests at once."
    )
    ingest_lease_s: Positive = Field(
        default=15.0, description="After this time a silent worker's document is taken over."
    )
    ingest_max_attempts: int = Field(
        default=5, ge=1, description="Attempts before a document becomes a dead letter."
    )
    fetch_at_once: int = Field(
        default=32, ge=1, le=512, description="Pages that one process fetches at once."
    )
    fetch_timeout_s: Positive = Field(
        default=30.0,
        description="Time limit of one page, without the wait between requests to its site.",
    )
    fetch_delay_s: float = Field(
        default=1.0,
        ge=0,
        le=60,
        description="Time between two requests to a site; its robots.txt may ask for more.",
    )
    fetch_robots: bool = Field(default=True, description="Obey robots.txt.")
    fetch_ignore_robots: Listed = Field(
        default_factory=list, description="Hosts whose robots.txt you may ignore."
    )
    fetch_retire_forbidden: bool = Field(
        default=False, description="Remove stored pages that robots.txt forbids later."
    )
    fetch_noindex: bool = Field(
        default=False, description="Leave out pages that ask not to be indexed (noindex)."
    )
    fetch_allowed: ListOf[HostPort] = Field(
        default_factory=list,
        description="Addresses outside the public web, as host:port, such as an intranet wiki.",
    )
    fetch_proxy: ProxyAddress | None = Field(
        default=None, repr=False, description="Proxy for all pages."
    )
    fetch_browser: bool = Field(
        default=False, description="Run the scripts of pages that have no text without them."
    )
    browser_path: LocalPath | None = Field(
        default=None, description="Chromium's program, where it is not found in PATH."
    )
    browser_sandbox: bool = Field(
        default=True, description="Run Chromium in its sandbox, which it cannot have as root."
    )
    fetch_contact: str | None = Field(
        default=None, max_length=200, description="Your contact address, sent with every request."
    )
    extract_processes: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="Processes that extract text from pages; by default one per core, at most 4.",
    )
    parsers: PageParsers | None = Field(
        default=None,
        description="Your own reader of a kind of page, such as OCR for pdf, as module:function.",
    )
    chunk_chars: int = Field(default=1200, ge=200, le=8000, description="Size of a chunk.")
    chunk_overlap_chars: int = Field(
        default=150, ge=0, le=2000, description="Characters that neighbouring chunks share."
    )

    coverage_timeout_s: NotNegative = Field(
        default=600.0, description="How long a coverage check waits for the pages of its ticket."
    )
    coverage_interval_s: Positive = Field(
        default=30.0,
        description="How often it then looks at pages that other processes work on.",
    )

    mcp_token: SecretStr | None = Field(
        default=None, description="Token that clients of the MCP server over HTTP must send."
    )

    openai_api_key: SecretStr | None = _vendor(
        "openai_api_key", "OPENAI_API_KEY", description="Key of OpenAI or of the endpoint below."
    )
    openai_base_url: Address | None = _vendor(
        "openai_base_url",
        "OPENAI_BASE_URL",
        repr=False,  # it may contain a password
        description="Any compatible endpoint, /v1 included.",
    )
    embeddings_api_key: SecretStr | None = Field(
        default=None, description="Key of the endpoint below, where it is another one."
    )
    embeddings_base_url: Address | None = Field(
        default=None,
        repr=False,  # it may contain a password
        description="Endpoint of embeddings, where it is not OPENAI_BASE_URL.",
    )
    langfuse_public_key: str | None = _vendor(
        "langfuse_public_key",
        "LANGFUSE_PUBLIC_KEY",
        description="With the secret key, switches tracing on.",
    )
    langfuse_secret_key: SecretStr | None = _vendor(
        "langfuse_secret_key", "LANGFUSE_SECRET_KEY", description="Belongs to the public key."
    )
    langfuse_base_url: Address | None = _vendor(
        "langfuse_base_url",
        "LANGFUSE_BASE_URL",
        "LANGFUSE_HOST",
        repr=False,  # it may contain a password
        description="Address of a self-hosted Langfuse; by default its cloud.",
    )
    langfuse_tracing: bool = _vendor(
        "langfuse_tracing",
        "LANGFUSE_TRACING_ENABLED",
        default=True,
        description="False switches Langfuse off although keys are set.",
    )
