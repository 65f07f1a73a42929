"""Settings: one table of names, read from a file and the environment.

Each field below is one setting. The environment calls it `COLLECTION_SEARCH_<FIELD>`, the file
`collection-search.yaml` (in the working folder, or where `COLLECTION_SEARCH_CONFIG` points) calls
it by the field's name. Vendors' own variables keep their usual names. The environment wins.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import platformdirs
import yaml
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from .contracts import Name
from .errors import ConfigError
from .keys import read_key, stored_names

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

PREFIX = "COLLECTION_SEARCH_"
CONFIG_VARIABLE = PREFIX + "CONFIG"
CONFIG_FILE = "collection-search.yaml"


def _config_path() -> Path:
    return Path(os.environ.get(CONFIG_VARIABLE) or CONFIG_FILE)


def _vendor(field: str, *names: str) -> AliasChoices:
    return AliasChoices(PREFIX + field.upper(), *names)


def _parts(value: Any) -> Any:
    return value.replace(",", " ").split() if isinstance(value, str) else value


Listed = Annotated[list[str], NoDecode, BeforeValidator(_parts)]
"""A list; in the environment its parts stand between spaces or commas."""


class ProviderAccess(BaseModel):
    """How one search provider is reached."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    api_key: SecretStr | None = None
    base_url: str | None = Field(default=None, repr=False)
    """Scheme, host and prefix, to which the vendor's documented path is appended."""
    search_engine_id: str | None = None
    """Google's `cx`."""
    rate_per_s: float | None = Field(default=None, gt=0, le=1000)
    """Requests that the plan allows in a second; further ones wait for their turn."""
    quota: int | None = Field(default=None, ge=0)
    """Requests that may be made in a `quota_period`, by all processes of this data folder."""
    quota_period: Literal["day", "month"] = "month"


class _VendorVariables(PydanticBaseSettingsSource):
    """Reads `<PROVIDER>_API_KEY` and the like for every provider, third parties' included."""

    def get_field_value(
        self,
        field: FieldInfo,  # noqa: ARG002 - the signature is given
        field_name: str,
    ) -> tuple[Any, str, bool]:
        """Give nothing: the whole map is made at once."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the map `providers`, as far as the environment has it."""
        found: dict[str, dict[str, str]] = {}
        for variable, value in os.environ.items():
            provider, part = _PARTS.get(variable) or _split(variable)
            if part and value.strip() and not variable.startswith(PREFIX):
                found.setdefault(provider, {})[part] = value.strip()
        return {"providers": found} if found else {}


_SUFFIXES: Final = {"_API_KEY": "api_key", "_BASE_URL": "base_url"}
_PARTS: Final = {
    "SEARXNG_URL": ("searxng", "base_url"),
    "GOOGLE_SEARCH_ENGINE_ID": ("google", "search_engine_id"),
}


def _split(variable: str) -> tuple[str, str | None]:
    for suffix, part in _SUFFIXES.items():
        if variable.endswith(suffix) and (name := variable.removesuffix(suffix)):
            return name.lower(), part
    return "", None


def _problem(item: ErrorDetails) -> str:
    """Return what is wrong with a setting, by its name in the file and in the environment."""
    place = [str(part) for part in item["loc"]]
    if item["type"] == "extra_forbidden":
        return f"{'.'.join(place)}: there is no such setting"
    is_field = place[0] in Settings.model_fields
    variable = f" ({PREFIX}{place[0].upper()})" if is_field else ""
    return f"{'.'.join(place)}{variable}: {item['msg']}"


class Settings(BaseSettings):
    """Everything that can be set; see the module's docstring for the names."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("collection-search"),
        description="Folder of the databases.",
    )
    tenant: Name = Field(default="local", description="Tenant of the command and of plain calls.")

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
            " rate_per_s, quota, quota_period."
        ),
    )
    use_fallback: bool = Field(
        default=False,
        description="Ask the fallback_provider when the first one fails; it may send a bill too.",
    )
    fallback_provider: str = Field(
        default="brave", description="Provider that is asked then, if it is configured."
    )
    default_max_results: int = Field(
        default=5, ge=1, le=10, description="Results that the search service returns."
    )
    default_search_depth: Literal["basic", "deep"] = Field(
        default="basic", description="Depth of the search service; deep costs more."
    )
    model: str | None = Field(
        default=None,
        description="Chat model that plans queries (role analyze), as provider:model.",
    )
    embeddings: str = Field(
        default="lexical", description="Embedder, as provider:model; lexical needs no model."
    )
    ranking_profile: Literal["default", "literal"] = Field(
        default="default",
        description="default: calibrated scores; literal: the raw 0.6/0.4 arithmetic.",
    )
    capture_query: Literal["full", "masked", "hash", "none"] = Field(
        default="masked", description="How questions appear in spans other than the tool's own."
    )

    search_timeout_s: float = Field(
        default=10.0, gt=0, description="Time limit of one search call."
    )
    search_retry_timeout_s: float = Field(
        default=20.0, gt=0, description="Time limit of the one retry after a timeout."
    )
    run_deadline_s: float = Field(
        default=60.0, gt=0, description="Time limit of one query with all its retries."
    )
    model_timeout_s: float = Field(default=30.0, gt=0, description="Time limit of one model call.")

    max_cost_usd: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Ceiling of what one run may cost, in US dollars.",
    )
    answer_cache_s: float = Field(
        default=3600.0,
        ge=0,
        allow_inf_nan=False,
        description="How long an answer that was paid for is used again, in seconds; 0: never.",
    )
    spend_days: int = Field(
        default=400, ge=1, le=36_500, description="How many days the costs of runs are kept."
    )

    ingest_workers: int = Field(
        default=8, ge=1, le=32, description="Documents that one process ingests at once."
    )
    ingest_lease_s: float = Field(
        default=15.0, gt=0, description="After this time a silent worker's document is taken over."
    )
    ingest_max_attempts: int = Field(
        default=5, ge=1, description="Attempts before a document is put aside as failed."
    )
    fetch_at_once: int = Field(
        default=32, ge=1, le=512, description="Pages that one process fetches at once."
    )
    fetch_timeout_s: float = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="Time limit of one page; waiting for the site's turn comes on top.",
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
    fetch_allowed: Listed = Field(
        default_factory=list,
        description=(
            "Single addresses beside the public web, as host:port: an intranet wiki, for instance."
        ),
    )
    fetch_proxy: str | None = Field(
        default=None, repr=False, description="Proxy that all pages come through."
    )
    fetch_contact: str | None = Field(
        default=None,
        max_length=200,
        description="Address at which sites reach you: it is told them with every request.",
    )
    extract_processes: int | None = Field(
        default=None,
        ge=1,
        le=64,
        description="Processes that read fetched pages; by default one per core, at most 4.",
    )
    chunk_chars: int = Field(default=1200, ge=200, le=8000, description="Size of a chunk.")
    chunk_overlap_chars: int = Field(
        default=150, ge=0, le=2000, description="Characters that neighbouring chunks share."
    )

    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=_vendor("openai_api_key", "OPENAI_API_KEY"),
        description="Key of OpenAI or of the endpoint below.",
    )
    openai_base_url: str | None = Field(
        default=None,
        repr=False,  # it may hold a password
        validation_alias=_vendor("openai_base_url", "OPENAI_BASE_URL"),
        description="Any compatible endpoint, /v1 included.",
    )
    embeddings_api_key: SecretStr | None = Field(
        default=None, description="Key of the endpoint below, where it is another one."
    )
    embeddings_base_url: str | None = Field(
        default=None,
        repr=False,  # it may hold a password
        description="Endpoint of embeddings, where it is not OPENAI_BASE_URL.",
    )
    langfuse_public_key: str | None = Field(
        default=None,
        validation_alias=_vendor("langfuse_public_key", "LANGFUSE_PUBLIC_KEY"),
        description="With the secret key, switches tracing on.",
    )
    langfuse_secret_key: SecretStr | None = Field(
        default=None,
        validation_alias=_vendor("langfuse_secret_key", "LANGFUSE_SECRET_KEY"),
        description="Belongs to the public key.",
    )
    langfuse_base_url: str | None = Field(
        default=None,
        repr=False,  # it may hold a password
        validation_alias=_vendor("langfuse_base_url", "LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
        description="Address of a self-hosted Langfuse; by default its cloud.",
    )
    langfuse_tracing: bool = Field(
        default=True,
        validation_alias=_vendor("langfuse_tracing", "LANGFUSE_TRACING_ENABLED"),
        description="False switches Langfuse off although keys are set.",
    )

    _stored: frozenset[str] = PrivateAttr(default=frozenset())

    def model_post_init(self, context: Any, /) -> None:  # noqa: ARG002 - the signature is given
        """Look up once which keys the keyring has: no run waits for a file because of it."""
        self._stored = stored_names(self.home)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is given
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, the environment over the file."""
        file = YamlConfigSettingsSource(settings_cls, _config_path())
        return init_settings, env_settings, _VendorVariables(settings_cls), file

    @classmethod
    def load(cls, **overrides: Any) -> Settings:
        """Return the settings of this process. Raises ConfigError naming the wrong setting."""
        path = _config_path()
        if os.environ.get(CONFIG_VARIABLE) and not path.is_file():
            raise ConfigError(f"{CONFIG_VARIABLE} names {str(path)!r}, which is no file.")
        try:
            return cls(**overrides)
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            raise ConfigError(f"The settings file {path} is not valid YAML: {error}") from error
        except ValidationError as error:
            problems = "; ".join(map(_problem, error.errors()))
            raise ConfigError(f"Settings are not valid. {problems}") from error
        except (TypeError, ValueError) as error:  # the file is a list or a text
            raise ConfigError(
                f"The settings file {path} must hold one setting a line, as in 'tenant: acme'."
            ) from error

    def __hash__(self) -> int:
        """Hash by what tells most settings apart: they are looked up several times a run."""
        return hash((self.home, self.tenant, self.provider, self.model, self.embeddings))

    @property
    def stored_keys(self) -> frozenset[str]:
        """Names of the keys in the system keyring: search providers, `openai` and the like."""
        return self._stored

    def access(self, provider: str) -> ProviderAccess:
        """Return what is known of how to reach a search provider.

        A key that neither environment nor file has is taken from the keyring, if it is stored
        there: the first time this blocks. Raises ConfigError when the keyring cannot be read.
        """
        known = self.providers.get(provider, ProviderAccess())
        if known.api_key is None and (stored := self._from_keyring(provider)):
            return known.model_copy(update={"api_key": stored})
        return known

    def openai_key(self) -> SecretStr | None:
        """Return the key of OpenAI, from the keyring as in `access`."""
        return self.openai_api_key or self._from_keyring("openai")

    def embeddings_key(self) -> SecretStr | None:
        """Return the key of the embeddings' own endpoint, from the keyring as in `access`."""
        return self.embeddings_api_key or self._from_keyring("embeddings")

    def langfuse_key(self) -> SecretStr | None:
        """Return Langfuse's secret key, from the keyring as in `access`."""
        return self.langfuse_secret_key or self._from_keyring("langfuse")

    def _from_keyring(self, name: str) -> SecretStr | None:
        return SecretStr(read_key(name)) if name in self._stored else None

    @property
    def collections_path(self) -> Path:
        """Database file of collections, ledger and staged texts."""
        return self.home / "collections.db"

    @property
    def corpus_path(self) -> Path:
        """Database file of the offline corpus."""
        return self.home / "corpus.db"

    def prepared_home(self) -> Path:
        """Return the data folder, created if need be. Raises ConfigError when not writable."""
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            probe = self.home / f".writable-{os.getpid()}"
            probe.touch()
            probe.unlink(missing_ok=True)  # another thread may have been faster
        except OSError as error:
            raise ConfigError(
                f"The data folder {self.home} cannot be written ({error.strerror}). "
                f"Set {PREFIX}HOME to a folder that you may write."
            ) from error
        return self.home
