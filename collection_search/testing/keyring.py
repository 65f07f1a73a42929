"""The system's keyring in memory. Needs the extra `keyring`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from ..settings import keyring as keys

if TYPE_CHECKING:
    from collections.abc import Mapping


class MemoryKeyring(KeyringBackend):
    """A replacement of the system's keyring inside a `with` block.

    With an `error`, such as `keyring.errors.KeyringLocked`, every call ends in it.
    """

    priority = -1.0  # pyright: ignore[reportAssignmentType] - the library takes any other before it

    def __init__(
        self, entries: Mapping[str, str] | None = None, *, error: Exception | None = None
    ) -> None:
        """Take keys by the names of their entries, such as `tavily_api_key`."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries = {(keys.SERVICE, name): key for name, key in (entries or {}).items()}
        """By service and entry."""
        self.error = error
        self.calls: list[str] = []
        """The entry of every call, in order."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return what is stored, None if nothing is."""
        self._called(username)
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store it."""
        self._called(username)
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        """Remove it. Raises PasswordDeleteError where there is nothing."""
        self._called(username)
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError(username)

    def __enter__(self) -> Self:
        keys.clear_cache()
        self._before: Any = keyring.core._keyring_backend  # noqa: SLF001 - asking would look for one
        keyring.set_keyring(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        keyring.core._keyring_backend = self._before  # noqa: SLF001
        keys.clear_cache()

    def _called(self, entry: str) -> None:
        self.calls.append(entry)
        if self.error is not None:
            raise self.error
