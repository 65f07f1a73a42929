"""Tokens of the server's callers: only their SHA-256 is kept, one private file a token.

A token has 256 random bits, so that nobody can guess it from its hash: a slow hash, as passwords
need, would add nothing. The file is looked up by the hash for each request. So a removed token is
refused at once, by every process on the data folder, and the time of the look-up tells nothing
about another token.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from ..errors import ConfigError, InputError
from ..runtime.file_presence import no_right_to_read
from ..runtime.private_files import create_private
from ..runtime.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER: Final = "access-tokens"
PREFIX: Final = "cs_"
"""First part of each token, by which scanners of source code find one."""
_BYTES: Final = 32
_ID_LENGTH: Final = 12
_USER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
_FILE: Final = re.compile(r"[0-9a-f]{64}\.json")
_SENT: Final = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")


class Role(IntEnum):
    """What a caller may do; each role may do what the ones before it may."""

    viewer = 1
    """Reads: collections, answers, coverage, runs."""
    reviewer = 2
    """Starts and cancels runs and ingestions, decides gates."""
    admin = 3
    """Deletes, and sets keys."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """Whom a token stands for."""

    token_id: str
    """The first characters of its hash, by which it is listed and removed."""
    tenant: str
    user: str
    role: Role
    created_at: str


class AccessTokens:
    """The tokens of a data folder; its methods block."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def add(self, tenant: str, user: str, role: Role) -> str:
        """Return a new token, which is kept nowhere. Raises InputError and ConfigError."""
        if not _USER.fullmatch(user):
            raise InputError(
                "The name of a user has letters, digits and . _ @ + -, and at most 100 of them."
            )
        token = PREFIX + secrets.token_urlsafe(_BYTES)
        kept = {
            "tenant": tenant,
            "user": user,
            "role": role.name,
            "created_at": datetime.now(UTC).isoformat(),
        }
        path = self._path(_hash(token))
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(path)
            with write_whole(path) as draft:
                draft.write_text(json.dumps(kept), "utf-8")
        except OSError as error:
            raise ConfigError(f"The token cannot be kept in {path} ({error.strerror}).") from error
        return token

    def find(self, token: str) -> AccessToken | None:
        """Return whom the token stands for; None for one that was never issued, or is removed."""
        if not _SENT.fullmatch(token):
            return None
        try:
            return self._read(_hash(token))
        except OSError:  # a file that cannot be read lets nobody in
            return None

    def every(self) -> list[AccessToken]:
        """Return all tokens, the oldest first. Raises ConfigError where they cannot be read."""
        found = [self._listed(path) for path in self._files()]
        return sorted(filter(None, found), key=lambda one: (one.created_at, one.token_id))

    def remove(self, token_ids: Iterable[str]) -> int:
        """Remove the tokens with these ids; return how many there were. Raises ConfigError."""
        ids = set(token_ids)
        paths = [path for path in self._files() if path.stem[:_ID_LENGTH] in ids]
        try:
            for path in paths:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(
                f"A token in {self._folder} cannot be removed ({error.strerror})."
            ) from error
        return len(paths)

    def _listed(self, path: Path) -> AccessToken | None:
        try:
            return self._read(path.stem)
        except FileNotFoundError:  # removed meanwhile
            return None
        except OSError as error:
            raise no_right_to_read(path, error) from error

    def _files(self) -> list[Path]:
        """Return the files of tokens. Raises ConfigError for a folder that cannot be read.

        `Path.glob` takes one for empty. The tokens in it let their users in all the same.
        """
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name for entry in entries if _FILE.fullmatch(entry.name)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise no_right_to_read(self._folder, error) from error
        return [self._folder / name for name in names]

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"

    def _read(self, digest: str) -> AccessToken | None:
        """Return the token of a hash, None for a damaged file. Raises OSError."""
        read = self._path(digest).read_bytes()
        try:
            kept: Any = json.loads(read)
            tenant, user, created_at = (kept[name] for name in ("tenant", "user", "created_at"))
            return AccessToken(digest[:_ID_LENGTH], tenant, user, Role[kept["role"]], created_at)
        except (ValueError, KeyError, TypeError):
            return None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
