"""Validation of what a caller gives a graph: input, context, and the answer to an interrupt.

LangGraph drops unknown keys of an input before a model sees them, and raises pydantic's own error
for a wrong value.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from langchain_core.runnables.config import ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from ..context import SearchContext
from ..errors import ConfigError, InputError
from ..runtime.cancellation import heed_cancellation
from ..settings.preloading import preload
from ..text.problems import join_problems, list_problems
from .thread_owner import OwnedThread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph import StateGraph
    from langgraph.types import StateUpdate

InputT = TypeVar("InputT", bound=BaseModel)

_PLACE: Final = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")
"""Keys of `configurable` that name a place in a thread."""

_READ_AS_OURS: Final = (Mapping, str, bytes, int, float, list, tuple, set)
"""What is no context of a host: a map of our fields, or a mistake."""


class ValidatingGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that refuses a wrong input and a wrong context before it runs.

    `invoke`, `ainvoke` and the streams raise InputError for the input and ConfigError for the
    context, and name each wrong or unknown field. As a node of another graph it takes what it
    needs from that graph's state.
    """

    @classmethod
    def compile(
        cls, builder: StateGraph[Any, Any, Any, Any], first: str, **options: Any
    ) -> ValidatingGraph:
        """Return the compiled graph; `first` is its first node, `options` go to `compile`."""
        graph = cls.__new__(cls)
        vars(graph).update(vars(builder.compile(**options)))
        node = graph.nodes[first]
        # Typed with a model, or LangGraph would neither validate nor fill in the defaults.
        node.mapper = partial(validate_input, builder.nodes[first].input_schema)
        return graph

    def stream(
        self,
        input: Any,  # noqa: A002 - LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> Iterator[Any]:
        """Return the chunks of LangGraph's stream. Raises InputError, ConfigError."""
        input, context = self._filled_in(input, context)  # noqa: A001 - LangGraph's name
        input = self._validate(input, config)  # noqa: A001 - LangGraph's name
        context = self._context(context, config)
        if thread := self._thread(config):
            config = thread.claim(config, context)
        return super().stream(input, config, context=context, **options)

    def astream(
        self,
        input: Any,  # noqa: A002 - LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Return the chunks of LangGraph's stream. Raises InputError, ConfigError."""
        input, context = self._filled_in(input, context)  # noqa: A001 - LangGraph's name
        input = self._validate(input, config)  # noqa: A001 - LangGraph's name
        context = self._context(context, config)
        run: Any = partial(super().astream, input, context=context, **options)
        thread = self._thread(config)
        return heed_cancellation(
            run(config) if thread is None else thread.stream(run, config, context)
        )

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Change the state as LangGraph does; the thread keeps its owner."""
        thread = self._thread(config)
        return super().bulk_update_state(thread.keep(config) if thread else config, supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Change the state as LangGraph does; the thread keeps its owner."""
        if thread := self._thread(config):
            config = await thread.akeep(config)
        return await super().abulk_update_state(config, supersteps)

    def _filled_in(self, given: Any, context: Any) -> tuple[Any, Any]:
        """Return input and context as the caller meant them."""
        return given, context

    def _context(self, given: Any, config: RunnableConfig | None) -> Any:
        if _is_node(config):
            return read_context(given)  # the keys are those of the graph around
        return read_context(with_configurable(given, self._told(config)))

    def _told(self, config: RunnableConfig | None) -> dict[str, Any]:
        """Return the keys of `configurable` that this graph and the call have."""
        return {**_configurable(self.config), **_configurable(config)}

    def _configurable(self, config: RunnableConfig | None) -> dict[str, Any]:
        """Return what LangGraph reads as `configurable`.

        Where neither names a place in a thread, the keys of a node around belong to it.
        """
        told = self._told(config)
        if any(told.get(name) not in (None, {}) for name in _PLACE):
            return told
        return {**_configurable(ensure_config()), **told}

    def _thread(self, config: RunnableConfig | None) -> OwnedThread | None:
        if self.checkpointer is None or isinstance(self.checkpointer, bool):
            return None
        return OwnedThread.find(self.checkpointer, self._configurable(config))

    def _has_memory(self, config: RunnableConfig | None) -> bool:
        """Return whether the state of an earlier run may be there."""
        if self.checkpointer is None or self.checkpointer is False:
            return False
        return "thread_id" in self._configurable(config)

    def _validate(self, given: Any, config: RunnableConfig | None) -> Any:
        """Return the input; a new one on a thread keeps no choice of the thread's last run.

        That of a node of another graph is that graph's state, which has further keys.
        """
        is_node = _is_node(config)
        if isinstance(given, Command) and not is_node:
            _refuse_empty(given)
        if given is None or isinstance(given, Command):
            return given
        model, has_memory = self.builder.input_schema, self._has_memory(config)
        if not is_node and not isinstance(given, model):
            _refuse_wrong_fields(model, given, is_thread=has_memory)
        return _with_defaults(model, given) if has_memory else given


def _configurable(config: RunnableConfig | None) -> dict[str, Any]:
    return (config or {}).get("configurable", {})


def _is_node(config: RunnableConfig | None) -> bool:
    """Return whether the call is that of a node of another graph, which LangGraph makes."""
    return bool(_configurable(config).get("checkpoint_ns"))


def _with_defaults(model: type[BaseModel], given: Any) -> Any:
    """Return the input with the defaults of its optional fields, else the thread's values hold."""
    if isinstance(given, model):
        given = {name: getattr(given, name) for name in given.model_fields_set}
    if not isinstance(given, Mapping):
        return given  # the state of another graph, as a model of its own
    kept: Collection[str] = getattr(model, "kept_on_thread", ())
    defaults = {
        name: field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
        if not field.is_required() and name not in kept
    }
    return {**defaults, **given}


def _refuse_empty(command: Command[Any]) -> None:
    """Raise InputError for a command without contents, which LangGraph stumbles over."""
    if command.resume is None and command.update is None and not command.goto:
        raise InputError(
            "The command is empty. Give the answer to the interrupt: Command(resume=...)."
        )


def _refuse_wrong_fields(model: type[BaseModel], given: Any, *, is_thread: bool) -> None:
    """Raise InputError for fields that are wrong or unknown.

    Fields that are missing may be in the thread already: the first node looks for them.
    """
    if not isinstance(given, Mapping):
        raise InputError("The input is not valid: give a map of the fields.")
    try:
        model.model_validate(given)
    except ValidationError as error:
        problems = list_problems(error)
        if is_thread:
            problems = [one for one in problems if one["type"] != "missing" and one["loc"]]
        if problems:
            raise _input_error(model, problems) from error


def validate_input(model: type[InputT], given: Mapping[str, Any]) -> InputT:
    """Return a graph's input. Raises InputError naming each wrong or unknown field."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _input_error(model, list_problems(error)) from error


def _input_error(model: type[BaseModel], problems: Collection[Any]) -> InputError:
    return InputError(f"The input is not valid. {join_problems(problems, model.model_fields)}")


def with_configurable(given: Any, configurable: Mapping[str, Any]) -> Any:
    """Return the context with the fields that `configurable` has; its other keys are the host's.

    Raises ConfigError where the two differ, for a host's own context object, and for a tenant where
    the context names none.
    """
    _refuse_tenant(given, configurable)
    fields = remote_fields()
    asked = {key: value for key, value in configurable.items() if key in fields and value != ""}
    if not asked:
        return given
    known: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if isinstance(given, SearchContext):
        known = {key: getattr(given, key) for key in given.model_fields_set}
    elif given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"The context is not valid. Give {', '.join(asked)} in the context.")
    if wrong := [key for key in asked if key in known and known[key] != asked[key]]:
        said = "; ".join(f"{key}: configurable and context differ" for key in wrong)
        raise ConfigError(f"The context is not valid. {said}. Give it in the context alone.")
    added = {key: value for key, value in asked.items() if key not in known}
    if isinstance(given, SearchContext):
        return given.model_copy(update=_validated(added))
    return {**known, **added}


def _refuse_tenant(given: Any, configurable: Mapping[str, Any]) -> None:
    """Raise ConfigError for a `tenant_id` that nobody obeys; beside a tenant it is the host's."""
    if given is not None and not isinstance(given, Mapping | SearchContext):
        return
    known = given.get("tenant_id") if isinstance(given, Mapping) else given and given.tenant_id
    if configurable.get("tenant_id") and not known:
        raise ConfigError(
            "The context is not valid. tenant_id: `configurable` does not choose the tenant. Give"
            " it in the context: SearchContext(tenant_id=...)."
        )


def _validated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields as a context has them. Raises ConfigError."""
    read = SearchContext.from_map(fields)
    return {key: getattr(read, key) for key in read.model_fields_set}


@functools.cache
def remote_fields() -> frozenset[str]:
    """Return the names of the fields that JSON may give."""
    return frozenset(SearchContext.model_json_schema()["properties"])


def read_context(given: Any) -> Any:
    """Return the context of a run for LangGraph; a map becomes ours. Raises ConfigError.

    What the context names is loaded meanwhile.
    """
    read = SearchContext.from_map(given) if isinstance(given, _READ_AS_OURS) else given
    if isinstance(read, SearchContext):
        preload(read)
    return read
