"""Whose thread it is: it goes on with a context of the tenant that it was started for.

LangGraph keeps the answer to an interrupt before any node runs, so the check comes before that.
The tenant stands in the metadata of each checkpoint, and in the state after the first node.
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

_TENANT: Final = "tenant_id"
_OF_A_SERVER: Final = ("assistant_id", "graph_id", "langgraph_auth_user")
"""Keys of `configurable` from which LangGraph makes `server_info`."""


class OwnedThread:
    """A thread of a checkpointer, and the context that wants to go on with it."""

    def __init__(
        self, saver: BaseCheckpointSaver[Any], configurable: Mapping[str, Any], context: Any
    ) -> None:
        self._saver = saver
        place = {n: configurable[n] for n in ("thread_id", "checkpoint_id") if configurable.get(n)}
        self._place: RunnableConfig = {"configurable": {"checkpoint_ns": "", **place}}
        self._context = context

    @classmethod
    def find(
        cls, saver: BaseCheckpointSaver[Any], configurable: Mapping[str, Any], context: Any
    ) -> OwnedThread | None:
        """Return the thread of a run; None without one, and for a node of another graph.

        On a LangGraph server, too: that knows whose its threads are, and a run's ids are sealed.
        """
        is_known = bool(configurable.get("checkpoint_ns")) or any(
            configurable.get(name) is not None for name in _OF_A_SERVER
        )
        if is_known or not configurable.get("thread_id"):
            return None
        return cls(saver, configurable, context)

    def claim(self, config: RunnableConfig | None) -> RunnableConfig:
        """Return the config with the tenant. Raises InputError for the thread of another one."""
        return self._named(config, self._tenant(), self._saver.get_tuple(self._place))

    async def stream(
        self,
        run: Callable[[RunnableConfig], AsyncGenerator[Any, None]],
        config: RunnableConfig | None,
    ) -> AsyncGenerator[Any, None]:
        """Yield the chunks of the run with the config that `claim` returns."""
        tenant = await offload(self._tenant)
        saved = await self._saver.aget_tuple(self._place)
        async with aclosing(run(self._named(config, tenant, saved))) as chunks:
            async for chunk in chunks:
                yield chunk

    def _tenant(self) -> str:
        return SearchContext.found_in(self._context).tenant()

    def _named(
        self, config: RunnableConfig | None, tenant: str, saved: CheckpointTuple | None
    ) -> RunnableConfig:
        if saved is not None:
            metadata = cast("Mapping[str, Any]", saved.metadata)
            values = saved.checkpoint.get("channel_values", {})
            refuse_other_tenant(metadata.get(_TENANT) or values.get(_TENANT), tenant)
        told = config or {}
        return {**told, "metadata": {**(told.get("metadata") or {}), _TENANT: tenant}}
