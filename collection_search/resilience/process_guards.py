"""The process's guards, one per provider and key."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from .provider_limits import ProviderGuard

MAX_GUARDS: Final = 1_000
"""The least recently used guard is dropped, as on a server whose users have their own keys."""

_GUARDS: OrderedDict[tuple[str, str], ProviderGuard] = OrderedDict()
_LOCK: Final = threading.Lock()


def key_id(key: str | None) -> str:
    """Return a short hash that identifies a key in every process.

    For a provider without keys, pass its address.

    >>> key_id("tvly-secret"), key_id(None)
    ('27e141f96f95', '-')
    """
    if not key:
        return "-"
    text = key.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=6, person=b"provider key").hexdigest()


def guard_of(
    provider: str, key: str | None, build: Callable[[str], ProviderGuard]
) -> ProviderGuard:
    """Return the process's one guard for a provider and key.

    `build` makes it from the key's id the first time.
    """
    place = (provider, key_id(key))
    with _LOCK:
        if place not in _GUARDS:
            _GUARDS[place] = build(place[1])
            if len(_GUARDS) > MAX_GUARDS:
                _GUARDS.popitem(last=False)
        _GUARDS.move_to_end(place)
        return _GUARDS[place]
