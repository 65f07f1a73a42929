"""Settings: one table of names, read from a file and the environment.

Each field below is one setting. The environment calls it `COLLECTION_SEARCH_<FIELD>`, the file
`collection-search.yaml` (in the working folder, or where `COLLECTION_SEARCH_CONFIG` points) calls
it by the field's name. Vendors' own variables keep their usual names. The environment wins.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import platformdirs
import yaml
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from .contracts import Name
from .errors import ConfigError

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


class ProviderAccess(BaseModel):
    """How one search provider is reached."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    api_key: SecretStr | None = None
    base_url: str | None = Field(default=None, repr=False)
    """Scheme, host and prefix, to which the vendor's documented path is appended."""
    search_engine_id: str | None = None
    """Google's `cx`."""


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
        description="Keys and addresses of search providers, by name: api_key, base_url.",
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

    ingest_workers: int = Field(
        default=2, ge=1, le=32, description="Documents that one process ingests at once."
    )
    ingest_lease_s: float = Field(
        default=15.0, gt=0, description="After this time a silent worker's document is taken over."
    )
    ingest_max_attempts: int = Field(
        default=5, ge=1, description="Attempts before a document is put aside as failed."
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

    def access(self, provider: str) -> ProviderAccess:
        """Return what is known of how to reach a search provider."""
        return self.providers.get(provider, ProviderAccess())

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
