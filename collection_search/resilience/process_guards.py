"""The process's guards, one per provider and key."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from ..text.known_secrets import key_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from .provider_limits import ProviderGuard

MAX_GUARDS: Final = 1_000
"""The least recently used guard is dropped, as on a server whose users have their own keys."""

_GUARDS: OrderedDict[tuple[str, str], ProviderGuard] = OrderedDict()
_LOCK: Final = threading.Lock()


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
