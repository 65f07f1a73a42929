"""Whose thread it is: it goes on with a context of the tenant that it was started for.

LangGraph keeps the answer to an interrupt before any node runs, so the check comes before that.
The tenant stands in the metadata of each checkpoint, and in the state after the first node. Two
first runs of a new thread at the same time may both begin: the check and the first checkpoint are
two steps.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, cast

from ..context import SearchContext
from ..nodes.run_ids import refuse_other_tenant
from ..runtime.concurrency import offload

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

_OWNER: Final = "collection_search_tenant"
"""Key of the metadata; hosts have a `tenant_id` of their own there."""
_OF_A_SERVER: Final = ("assistant_id", "graph_id", "langgraph_auth_user")
"""Keys of `configurable` from which LangGraph makes `server_info`."""


class OwnedThread:
    """A thread of a checkpointer: who owns it, and who may go on with it."""

    def __init__(self, saver: BaseCheckpointSaver[Any], configurable: Mapping[str, Any]) -> None:
        """Take the thread that `configurable` names, as LangGraph reads it."""
        self._saver = saver
        self._is_node = bool(configurable.get("checkpoint_ns"))
        thread_id = configurable["thread_id"]
        place = {"thread_id": str(thread_id) if thread_id else thread_id, "checkpoint_ns": ""}
        if not self._is_node and (checkpoint_id := configurable.get("checkpoint_id")):
            place["checkpoint_id"] = checkpoint_id
        self._place: RunnableConfig = {"configurable": place}

    @classmethod
    def find(
        cls, saver: BaseCheckpointSaver[Any], configurable: Mapping[str, Any]
    ) -> OwnedThread | None:
        """Return the thread of a run; None without one.

        None on a LangGraph server too: it knows whose its threads are, and a run's ids are sealed.
        """
        if configurable.get("thread_id") is None:
            return None
        if any(configurable.get(name) is not None for name in _OF_A_SERVER):
            return None
        return cls(saver, configurable)

    def claim(self, config: RunnableConfig | None, context: Any) -> RunnableConfig | None:
        """Return the config with the owner. Raises InputError for the thread of another tenant."""
        return self._claimed(config, _tenant(context), self._saver.get_tuple(self._place))

    async def stream(
        self,
        run: Callable[[RunnableConfig | None], AsyncGenerator[Any, None]],
        config: RunnableConfig | None,
        context: Any,
    ) -> AsyncGenerator[Any, None]:
        """Yield the chunks of the run with the config that `claim` returns."""
        tenant = await offload(_tenant, context)
        saved = await self._saver.aget_tuple(self._place)
        async with aclosing(run(self._claimed(config, tenant, saved))) as chunks:
            async for chunk in chunks:
                yield chunk

    def keep(self, config: RunnableConfig) -> RunnableConfig:
        """Return the config of a change of the state, with the owner if there is one."""
        return self._named(config, self._owner_of(self._saver.get_tuple(self._place)))

    async def akeep(self, config: RunnableConfig) -> RunnableConfig:
        """Return what `keep` does."""
        return self._named(config, self._owner_of(await self._saver.aget_tuple(self._place)))

    def _claimed(
        self, config: RunnableConfig | None, tenant: str, saved: CheckpointTuple | None
    ) -> RunnableConfig | None:
        refuse_other_tenant(self._owner_of(saved), tenant)
        return config if self._is_node else self._named(config or {}, tenant)

    def _owner_of(self, saved: CheckpointTuple | None) -> str | None:
        """Return the tenant whose checkpoint it is; None for one that names none."""
        if saved is None:
            return None
        owner: str | None = cast("Mapping[str, Any]", saved.metadata).get(_OWNER)
        if owner is None and not self._is_node:  # a host's state may have a `tenant_id` of its own
            owner = saved.checkpoint.get("channel_values", {}).get("tenant_id")
        return owner

    @staticmethod
    def _named(config: RunnableConfig, owner: str | None) -> RunnableConfig:
        if owner is None:
            return config
        return {**config, "metadata": {**(config.get("metadata") or {}), _OWNER: owner}}


def _tenant(context: Any) -> str:
    return SearchContext.found_in(context).tenant()
