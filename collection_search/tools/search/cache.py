"""The cache of search providers' answers: a repeated query costs nothing."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from ..spending.spend_writer import cached_answers, call_or_warn
from .packed_answer import pack_answer, unpack_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...contracts.options import SearchOptions
    from ...contracts.search import SearchAdapterResponse
    from ...ports.search_function import Asked
    from ...ports.usage import AnswerCache

KIND: Final = "search"


@dataclass(frozen=True, slots=True)
class SearchCache:
    """The answers of one provider to one tenant, for one run or service."""

    store: AnswerCache
    tenant_id: str
    source: str
    """Identity of provider, address and key: each has its own answers."""
    max_age_s: float
    cache_answers: Callable[[str, Callable[[], Mapping[str, Any]]], None] | None = None
    """Takes new answers by key, to be stored with others: see `Account.cache_answers`."""
    _known: dict[str, SearchAdapterResponse | None] = field(default_factory=dict)
    _keys: dict[tuple[str, int, int], tuple[SearchOptions, str]] = field(default_factory=dict)
    """Keys of this run's requests, which are needed several times, with their options."""

    def key(self, asked: Asked) -> str:
        """Return the same text for the same request."""
        place = asked.query, asked.count, id(asked.options)
        if (known := self._keys.get(place)) is not None and known[0] is asked.options:
            return known[1]
        options = asked.options.model_dump(mode="json", exclude_defaults=True)
        said = json.dumps([self.source, asked.query, asked.count, options], sort_keys=True)
        key = blake2b(said.encode(), digest_size=20).hexdigest()
        self._keys[place] = asked.options, key
        return key

    async def recall(self, requests: Sequence[Asked]) -> None:
        """Look up the answers to these requests in one query, for `get`."""
        keys = [key for asked in requests if (key := self.key(asked)) not in self._known]
        if not keys:
            return

        def read(found: Mapping[str, bytes]) -> dict[str, SearchAdapterResponse | None]:
            return {key: unpack_answer(found[key]) if key in found else None for key in keys}

        known = await cached_answers(
            self.store, self.tenant_id, KIND, keys, max_age_s=self.max_age_s, read=read
        )
        self._known.update(known or dict.fromkeys(keys))

    async def get(self, asked: Asked) -> SearchAdapterResponse | None:
        """Return the answer to an earlier request, None where there is none that is fresh."""
        key = self.key(asked)
        waiting = _UNWRITTEN.get(self._place(key))
        if waiting is not None and time.monotonic() - waiting.at < min(self.max_age_s, _SOON_S):
            return waiting.answer
        if self._known.get(key) is None and self._place(key) in _PUT:
            self._known.pop(key, None)  # another run was answered since it was looked up
        await self.recall([asked])
        return self._known[key]

    async def put(self, asked: Asked, answer: SearchAdapterResponse) -> None:
        """Store the answer."""
        key = self.key(asked)
        self._known[key] = answer
        if self.cache_answers is not None:
            waiting = _UNWRITTEN[self._place(key)] = _Unwritten(answer)
            _PUT[self._place(key)] = None
            _PUT.move_to_end(self._place(key))
            if len(_PUT) > _MAX_NOTED:
                _PUT.popitem(last=False)
            # The function holds `waiting`, which lives until it is stored.
            self.cache_answers(KIND, lambda: {key: lambda: pack_answer(waiting.answer)})
            return
        put = partial(self.store.put, self.tenant_id, KIND, key, partial(pack_answer, answer))
        call_or_warn(put, "An answer cannot be written down.")

    def _place(self, key: str) -> tuple[int, str, str]:
        return id(self.store), self.tenant_id, key


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Unwritten:
    """An answer that lives until it is stored."""

    answer: SearchAdapterResponse
    at: float = field(default_factory=time.monotonic)


_SOON_S: Final = 60.0
"""An answer that is not stored after this time is looked up in the file."""
_UNWRITTEN: Final[WeakValueDictionary[tuple[int, str, str], _Unwritten]] = WeakValueDictionary()
"""Answers on their way to the file, by store, tenant and key: other runs find them here."""
_PUT: Final[OrderedDict[tuple[int, str, str], None]] = OrderedDict()
"""The latest answers: a lookup that came too early is repeated."""
_MAX_NOTED: Final = 1_000
