"""Whose thread it is: it goes on with a context of the tenant that it was started for.

LangGraph keeps the answer to an interrupt before any node runs, so the check comes before that.
The tenant stands in the metadata of a thread's checkpoints, and in the state after the first node.
Two first runs of a new thread at the same time may both begin: the check and the first checkpoint
are two steps.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast

from ..context import SearchContext
from ..nodes.run_ids import refuse_other_tenant
from ..runtime.concurrency import offload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

_OWNER: Final = "collection_search_tenant"
"""Key of the metadata; hosts have a `tenant_id` of their own there."""
_OF_A_SERVER: Final = ("assistant_id", "graph_id", "langgraph_auth_user")
"""Keys of `configurable` from which LangGraph makes `server_info`."""


def is_server_call(configurable: Mapping[str, Any]) -> bool:
    """Return whether a LangGraph server makes the call."""
    return any(configurable.get(name) is not None for name in _OF_A_SERVER)


class OwnedThread:
    """A thread of a checkpointer: who owns it, and who may go on with it.

    All its branches have one owner, so it does not matter which checkpoint a call names.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], thread_id: object) -> None:
        """Take a thread, whose name LangGraph makes a string unless it is false."""
        self._saver = saver
        name = str(thread_id) if thread_id else thread_id
        self._place: RunnableConfig = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}

    @classmethod
    def find(
        cls, saver: BaseCheckpointSaver[Any], configurable: Mapping[str, Any]
    ) -> OwnedThread | None:
        """Return the thread of a run; None without one.

        None on a LangGraph server too: it knows whose its threads are, and a run's ids are sealed.
        """
        thread_id = configurable.get("thread_id")
        if thread_id is None:
            return None
        return None if is_server_call(configurable) else cls(saver, thread_id)

    def claim(self, config: RunnableConfig | None, context: Any) -> RunnableConfig:
        """Return the config with the owner. Raises InputError for the thread of another tenant."""
        return self._claimed(config, _tenant(context), self._owner())

    async def aclaim(self, config: RunnableConfig | None, context: Any) -> RunnableConfig:
        """Return what `claim` does."""
        tenant = await offload(_tenant, context)
        return self._claimed(config, tenant, await self._aowner())

    def keep(self, config: RunnableConfig) -> RunnableConfig:
        """Return the config of a change of the state, with the owner if there is one."""
        return self._named(config, self._owner())

    async def akeep(self, config: RunnableConfig) -> RunnableConfig:
        """Return what `keep` does."""
        return self._named(config, await self._aowner())

    def _claimed(
        self, config: RunnableConfig | None, tenant: str, owner: str | None
    ) -> RunnableConfig:
        refuse_other_tenant(owner, tenant)
        return self._named(config or {}, tenant)

    def _owner(self) -> str | None:
        """Return the tenant of the last checkpoint that names one: a copy of one names none."""
        last = self._saver.get_tuple(self._place)
        if last is None:
            return None
        older = self._saver.list(self._place)
        return next(filter(None, map(_owner_in, chain([last], older))), None)

    async def _aowner(self) -> str | None:
        """Return what `_owner` does."""
        last = await self._saver.aget_tuple(self._place)
        if last is None:
            return None
        if owner := _owner_in(last):
            return owner
        async for saved in self._saver.alist(self._place):
            if owner := _owner_in(saved):
                return owner
        return None

    @staticmethod
    def _named(config: RunnableConfig, owner: str | None) -> RunnableConfig:
        if owner is None:
            return config
        return {**config, "metadata": {**(config.get("metadata") or {}), _OWNER: owner}}


def _owner_in(saved: CheckpointTuple) -> str | None:
    """Return the tenant that a checkpoint names, in its metadata or its state."""
    owner: str | None = cast("Mapping[str, Any]", saved.metadata).get(_OWNER)
    return owner or saved.checkpoint.get("channel_values", {}).get("tenant_id")


def _tenant(context: Any) -> str:
    return SearchContext.found_in(context).tenant()
