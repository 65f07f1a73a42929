"""Settings: one table of names, read from a file and the environment.

Each field of the table is one setting. Its variable is `COLLECTION_SEARCH_<FIELD>`; the file is
`collection-search.yaml` in the working folder, or at `COLLECTION_SEARCH_CONFIG`. Vendors' own
variables have their usual names. The environment wins.
"""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import PrivateAttr, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from ..errors import ConfigError
from ..runtime.disk_room import FULL_ERRORS, full_disk_text
from ..runtime.file_presence import has_file
from ..text.problems import list_problems
from .keyring import read_key, stored_names
from .mistakes import (
    ask_for_json,
    describe_mistake,
    refuse_unknown_providers,
    warn_of_unknown_variables,
)
from .provider_access import ProviderAccess
from .settings_file import OTHER_FILE, read_settings_file
from .sources import CONFIG_FILE, CONFIG_VARIABLE, PROVIDERS_VARIABLE, VendorVariables, config_path
from .table import PREFIX, SettingsTable

if TYPE_CHECKING:
    from pathlib import Path

    from .endpoint_description import JsonApi

__all__ = ["CONFIG_FILE", "CONFIG_VARIABLE", "PREFIX", "ProviderAccess", "Settings"]

_ENVIRONMENT: Final = hashlib.sha256(os.fsencode(sys.prefix)).hexdigest()[:8]
"""Environments have different packages; with one index each would build it anew after the other."""


class Settings(SettingsTable):
    """All settings; see the module's docstring for the names."""

    model_config = SettingsConfigDict(defer_build=False)

    _stored: frozenset[str] = PrivateAttr(default=frozenset())

    def model_post_init(self, context: Any, /) -> None:  # noqa: ARG002 - the signature is given
        """Read once which keys the keyring has, so that no run waits for that file."""
        self.renew_stored_keys()

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
        file = InitSettingsSource(settings_cls, read_settings_file(config_path()))
        return init_settings, env_settings, VendorVariables(settings_cls), file

    @classmethod
    def load(cls, **overrides: Any) -> Settings:
        """Return the settings of this process. Raises ConfigError naming the wrong setting.

        Log one warning for each of our variables that this version does not know.
        """
        path = config_path()
        is_there = has_file(path, instead=OTHER_FILE)
        if os.environ.get(CONFIG_VARIABLE) and not is_there:
            raise ConfigError(f"{CONFIG_VARIABLE} names {str(path)!r}, which is no file.")
        warn_of_unknown_variables()
        try:
            settings = cls(**overrides)
        except ValidationError as error:
            problems = "; ".join(describe_mistake(item, overrides) for item in list_problems(error))
            raise ConfigError(f"Settings are not valid. {problems}") from error
        except SettingsError as error:  # the one variable that is read as JSON alone
            raise ConfigError(
                f"Settings are not valid. {PROVIDERS_VARIABLE}: {ask_for_json(PROVIDERS_VARIABLE)}"
            ) from error
        refuse_unknown_providers(settings, overrides)
        return settings

    def __hash__(self) -> int:
        """Return a hash of the fields that differ most; a run needs it several times."""
        return hash((self.home, self.tenant, self.provider, self.model, self.embeddings))

    @property
    def stored_keys(self) -> frozenset[str]:
        """Names of the keys in the system keyring: search providers, `openai` and the like."""
        return self._stored

    def renew_stored_keys(self) -> None:
        """Read anew which keys the keyring has. Blocks."""
        self._stored = stored_names(self.home)

    def access(self, provider: str) -> ProviderAccess:
        """Return the key, address and limits of a search provider.

        A key that neither environment nor file has comes from the keyring, if it is stored there:
        the first time this blocks. Raises ConfigError when the keyring cannot be read.
        """
        known = self.providers.get(provider, ProviderAccess())
        if known.api_key is None and (stored := self._from_keyring(provider)):
            return known.model_copy(update={"api_key": stored})
        return known

    def described(self, provider: str) -> JsonApi | None:
        """Return the description of a JSON endpoint, None for any other provider."""
        access = self.providers.get(provider)
        return access.json_api if access else None

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
    def engine(self) -> Literal["sqlite", "postgres"]:
        """The database that has collections, ledger, runs, checkpoints and spending."""
        return "sqlite" if self.database_url is None else "postgres"

    def postgres_url(self) -> str:
        """Return the address of the PostgreSQL database. Raises ConfigError without one."""
        if self.database_url is None:
            raise ConfigError("No database is set. Set COLLECTION_SEARCH_DATABASE_URL.")
        return self.database_url.get_secret_value()

    def amqp_url(self) -> str:
        """Return the address of the message broker. Raises ConfigError without one."""
        if self.broker_url is None:
            raise ConfigError(
                "No message broker is set. Set COLLECTION_SEARCH_BROKER_URL, or"
                " COLLECTION_SEARCH_INGEST_ENGINE=local to ingest without one."
            )
        return self.broker_url.get_secret_value()

    def require_shared_engines(self) -> None:
        """Raise ConfigError unless broker and database are set, which workers of a queue share."""
        self.amqp_url()
        if self.database_url is None:
            raise ConfigError(
                "The workers of a message broker share a PostgreSQL database, and none is set. Set"
                " COLLECTION_SEARCH_DATABASE_URL, or COLLECTION_SEARCH_INGEST_ENGINE=local to"
                " ingest without a broker."
            )

    @property
    def collections_path(self) -> Path:
        """Database file of collections, ledger and staged texts."""
        return self.home / "collections.db"

    @property
    def corpus_path(self) -> Path:
        """Database file of the offline corpus of this Python environment."""
        return self.home / f"corpus.{_ENVIRONMENT}.db"

    @property
    def checkpoints_path(self) -> Path:
        """Database file of runs that wait for a person."""
        return self.home / "checkpoints.db"

    @property
    def runs_path(self) -> Path:
        """Database file of the server's runs."""
        return self.home / "runs.db"

    def prepared_home(self) -> Path:
        """Return the data folder, created for its owner if need be.

        Raises ConfigError when it is not writable.
        """
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe = self.home / f".writable-{os.getpid()}"
            probe.touch()
            probe.unlink(missing_ok=True)  # another thread may have been faster
        except OSError as error:
            if error.errno in FULL_ERRORS:
                raise ConfigError(full_disk_text(self.home)) from error
            raise ConfigError(
                f"The data folder {self.home} cannot be written ({error.strerror}). "
                f"Set {PREFIX}HOME to a folder that you may write."
            ) from error
        return self.home

    def readable_home(self) -> Path:
        """Return the data folder if it is writable or has collections to read; else ConfigError."""
        try:
            return self.prepared_home()
        except ConfigError:
            if not os.access(self.collections_path, os.R_OK):
                raise
            return self.home
