"""Keys in the system's keyring, under the service `collection-search`.

An index in the data folder lists the names with a stored key. Without a name in it the keyring's
library is not even imported. Keys and failures are cached until the process ends.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..errors import ConfigError, InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVICE: Final = "collection-search"
INDEX_FILE: Final = "stored-keys.txt"
"""Names, one a line."""
_ENTRIES: Final = {"brave": "brave_search_api_key", "langfuse": "langfuse_secret_key"}
_VARIABLES: Final = {
    "embeddings": "COLLECTION_SEARCH_EMBEDDINGS_API_KEY",
    "langfuse": "LANGFUSE_SECRET_KEY",
}
_KEEPING_NOTHING: Final = {"keyring.backends.fail", "keyring.backends.null"}
"""Modules of the library's own backends for machines without a keyring."""
_NO_KEYRING: Final = "This machine has no keyring, as is usual without a desktop: {instead}."

_remembered: dict[str, str | ConfigError] = {}
_lock = threading.Lock()


def entry_of(name: str) -> str:
    """Return the name of the key's entry in the keyring.

    >>> entry_of("tavily"), entry_of("brave")
    ('tavily_api_key', 'brave_search_api_key')
    """
    return _ENTRIES.get(name, f"{name}_api_key")


def variable_of(name: str) -> str:
    """Return the environment variable for the same key.

    >>> variable_of("tavily"), variable_of("langfuse")
    ('TAVILY_API_KEY', 'LANGFUSE_SECRET_KEY')
    """
    return _VARIABLES.get(name, f"{name.upper()}_API_KEY")


def unusable_reason() -> str | None:
    """Return why no key can be kept on this machine, None where one can. Blocks.

    Nothing is read, so nobody is asked to unlock anything: a locked keyring is usable.
    """
    try:
        backend = type(_library("PROVIDER").get_keyring()).__module__
    except MissingExtraError as error:
        return str(error)
    if backend in _KEEPING_NOTHING:
        return _NO_KEYRING.format(instead="set the provider's variable instead")
    return None


def cleaned_key(text: str) -> str:
    """Return the key without blanks around it. Raises InputError, which does not repeat it."""
    key = text.strip()
    if not key:
        raise InputError("No key was given: nothing is changed.")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(
            "The key holds characters that no key has, such as blanks. Copy it again: it is one "
            "line without quotes."
        )
    return key


def stored_names(home: Path) -> frozenset[str]:
    """Return the names with a stored key, from the index of this data folder."""
    try:
        return frozenset((home / INDEX_FILE).read_text("utf-8").split())
    except (OSError, UnicodeDecodeError):  # usually there is none
        return frozenset()


def read_key(name: str) -> str:
    """Return the stored key.

    Blocks, perhaps until a person has unlocked the keyring: keep it off an event loop. Raises
    ConfigError when the keyring cannot be read or lacks the key, MissingExtraError without its
    library.
    """
    with _lock:  # concurrent callers wait for one prompt to the user
        if name not in _remembered:
            _remembered[name] = _read(name)
        known = _remembered[name]
    if isinstance(known, ConfigError):
        raise type(known)(str(known)) from known
    return known


def store_key(home: Path, name: str, key: str) -> None:
    """Store the key in the keyring, and its name in the index. Raises as `read_key` does."""
    keyring = _library(name)
    with _in_plain_words(name, key):
        keyring.set_password(SERVICE, entry_of(name), key)
        is_stored = keyring.get_password(SERVICE, entry_of(name)) == key
    if not is_stored:
        backend = type(keyring.get_keyring()).__module__
        raise ConfigError(
            f"The keyring of this machine keeps nothing ({backend})."
            f" Set {variable_of(name)} instead."
        )
    if name not in stored_names(home):
        with (home / INDEX_FILE).open("a", encoding="utf-8") as index:
            index.write(f"{name}\n")
    with _lock:
        _remembered[name] = key


def remove_key(home: Path, name: str) -> bool:
    """Delete the key from keyring and index; return whether there was one."""
    keyring = _library(name)
    with _in_plain_words(name):
        is_there = keyring.get_password(SERVICE, entry_of(name)) is not None
        if is_there:
            keyring.delete_password(SERVICE, entry_of(name))
    left = stored_names(home) - {name}
    if left:
        (home / INDEX_FILE).write_text("".join(f"{one}\n" for one in sorted(left)), "utf-8")
    else:
        (home / INDEX_FILE).unlink(missing_ok=True)
    with _lock:
        _remembered.pop(name, None)
    return is_there


def clear_cache() -> None:
    """Clear this process's cache of the keyring."""
    with _lock:
        _remembered.clear()


def _read(name: str) -> str | ConfigError:
    try:
        keyring = _library(name)
        with _in_plain_words(name):
            key: str | None = keyring.get_password(SERVICE, entry_of(name))
    except ConfigError as error:
        return error
    return key or ConfigError(
        f"The keyring of this machine no longer has the entry {entry_of(name)}. "
        f"Run: collection-search keys set {name}, or: collection-search keys remove {name}"
    )


def _library(name: str) -> Any:
    try:
        import keyring
    except ImportError as error:
        raise MissingExtraError(
            "Keys in the system keyring need an extra. Run: pip install "
            f"'collection-search[keyring]', or set {variable_of(name)} instead."
        ) from error
    return keyring


@contextmanager
def _in_plain_words(name: str, key: str = "") -> Iterator[None]:
    """Raise ConfigError with a remedy for any error of a keyring.

    The keyring's text is not repeated, and an error that contains the key is not chained.
    """
    from keyring.errors import KeyringLocked, NoKeyringError

    instead = f"set {variable_of(name)} instead"
    try:
        yield
    except NoKeyringError as error:
        raise ConfigError(_NO_KEYRING.format(instead=instead)) from error
    except KeyringLocked as error:
        raise ConfigError(
            f"The keyring of this machine is locked: unlock it and start again, or {instead}."
        ) from error
    except Exception as error:  # noqa: BLE001 - backends raise what they like
        cause = None if key and key in f"{error!r}" else error
        raise ConfigError(
            f"The keyring of this machine cannot be used ({type(error).__name__}): {instead}."
        ) from cause
