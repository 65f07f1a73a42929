"""The seal of a run's ids: shows that a server made them, and no caller wrote them into a state.

Who may write the state of a thread could else give a run the ids of another one, and with them
another ceiling of its costs.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import secrets
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..runtime.private_files import create_private

if TYPE_CHECKING:
    from pathlib import Path

KEY_FILE: Final = "run-seal.key"
"""A secret of the data folder; its servers know each other's runs."""
_BYTES: Final = 32


def seal_ids(home: Path, tenant: str, *ids: str) -> str:
    """Return the seal in the form of a UUID; the first time this blocks."""
    text = repr((tenant, *ids)).encode()
    return str(uuid.UUID(bytes=hmac.digest(_secret(home), text, hashlib.sha256)[:16]))


def is_sealed(seal: str, home: Path, tenant: str, *ids: str) -> bool:
    """Return whether the ids have this seal; blocks as `seal_ids` does."""
    return hmac.compare_digest(seal.encode(), seal_ids(home, tenant, *ids).encode())


@functools.lru_cache(maxsize=16)
def _secret(home: Path) -> bytes:
    """Return the secret of the data folder; one of this process where it cannot be kept."""
    path, draft = home / KEY_FILE, home / f"{KEY_FILE}.{uuid.uuid4().hex[:12]}.part"
    try:
        if not path.exists():
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_private(draft)
            draft.write_bytes(secrets.token_bytes(_BYTES))
            with suppress(FileExistsError):  # another process was first
                os.link(draft, path)
        if len(found := path.read_bytes()) == _BYTES:
            return found
    except OSError:
        pass
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return secrets.token_bytes(_BYTES)
