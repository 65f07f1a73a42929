"""Validation of what a caller gives a graph: input, context, and the answer to an interrupt.

LangGraph drops unknown keys of an input before a model sees them, and raises pydantic's own error
for a wrong value.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from ..contracts.review import GATE_NODE
from ..errors import InputError
from ..runtime.cancellation import heed_cancellation
from ..text.problems import join_problems, list_problems
from .call_config import CallConfig, read_context, with_configurable
from .state_changes import refuse_wrong_change
from .thread_owner import OwnedThread, is_server_call

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Collection,
        Iterator,
        Sequence,
    )

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph import StateGraph
    from langgraph.types import StateSnapshot, StateUpdate

InputT = TypeVar("InputT", bound=BaseModel)


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
        call, given, context = self._read_call(input, config, context)
        if thread := self._thread(call):
            config = thread.claim(config, context)
        if place := self._place_of_answer(given, call):
            _refuse_unasked(self.get_state(place), call)
        return super().stream(given, config, context=context, **options)

    def astream(
        self,
        input: Any,  # noqa: A002 - LangGraph's name
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """Return the chunks of LangGraph's stream. Raises InputError, ConfigError."""
        call, given, context = self._read_call(input, config, context)
        run: Any = partial(super().astream, given, context=context, **options)
        thread, place = self._thread(call), self._place_of_answer(given, call)
        if thread or place:
            admit = partial(self._admit, thread, place, call, config, context)
            return heed_cancellation(_run_admitted(run, admit))
        return heed_cancellation(run(config))

    async def _admit(
        self,
        thread: OwnedThread | None,
        place: RunnableConfig | None,
        call: CallConfig,
        config: RunnableConfig | None,
        context: Any,
    ) -> RunnableConfig | None:
        """Return the config with the owner. Raises InputError for what may not go on."""
        claimed = await thread.aclaim(config, context) if thread else config
        if place:
            _refuse_unasked(await self.aget_state(place), call)
        return claimed

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Change the state as LangGraph does; the thread keeps its owner. Raises InputError."""
        self._refuse_wrong_changes(supersteps)
        thread = self._thread(CallConfig.read(self.config, config))
        return super().bulk_update_state(thread.keep(config) if thread else config, supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Change the state as LangGraph does; the thread keeps its owner. Raises InputError."""
        self._refuse_wrong_changes(supersteps)
        if thread := self._thread(CallConfig.read(self.config, config)):
            config = await thread.akeep(config)
        return await super().abulk_update_state(config, supersteps)

    def _refuse_wrong_changes(self, supersteps: Sequence[Sequence[StateUpdate]]) -> None:
        for change in chain.from_iterable(supersteps):
            refuse_wrong_change(self.builder, change[0])  # it may be a plain tuple

    def _read_call(
        self, given: Any, config: RunnableConfig | None, context: Any
    ) -> tuple[CallConfig, Any, Any]:
        """Return what a call is told, and its validated input and context."""
        call = CallConfig.read(self.config, config)
        given, context = self._filled_in(given, context)
        return call, self._validate(given, call), _context(context, call)

    def _filled_in(self, given: Any, context: Any) -> tuple[Any, Any]:
        """Return input and context as the caller meant them."""
        return given, context

    def _saver(self, call: CallConfig) -> BaseCheckpointSaver[Any] | None:
        """Return what keeps the call's checkpoints; inside a node that is the host's affair."""
        saver = self.checkpointer
        return None if saver is None or isinstance(saver, bool) or call.is_inside else saver

    def _thread(self, call: CallConfig) -> OwnedThread | None:
        """Return the thread of a call, where it can have an owner."""
        saver = self._saver(call)
        return OwnedThread.find(saver, call.configurable) if saver else None

    def _place_of_answer(self, given: Any, call: CallConfig) -> RunnableConfig | None:
        """Return the checkpoint that an answer is for; None for another input."""
        is_answer = isinstance(given, Command) and given.resume is not None
        return call.place if is_answer and self._saver(call) else None

    def _has_memory(self, call: CallConfig) -> bool:
        """Return whether the state of an earlier run may be there."""
        if self.checkpointer is None or self.checkpointer is False:
            return False
        return "thread_id" in call.configurable

    def _validate(self, given: Any, call: CallConfig) -> Any:
        """Return the input; a new one on a thread keeps no choice of the thread's last run.

        That of a node of another graph is that graph's state, which has further keys.
        """
        if isinstance(given, Command) and not call.is_node:
            _refuse_empty(given)
            refuse_wrong_change(self.builder, given.update)
        if given is None or isinstance(given, Command):
            return given
        model, has_memory = self.builder.input_schema, self._has_memory(call)
        if not call.is_node and not isinstance(given, model):
            _refuse_wrong_fields(model, given, is_thread=has_memory)
        return _with_defaults(model, given) if has_memory else given


async def _run_admitted(
    run: Callable[[RunnableConfig | None], AsyncGenerator[Any, None]],
    admit: Callable[[], Awaitable[RunnableConfig | None]],
) -> AsyncGenerator[Any, None]:
    """Yield the chunks of a run with the config that it is admitted with."""
    async with aclosing(run(await admit())) as chunks:
        async for chunk in chunks:
            yield chunk


def _context(given: Any, call: CallConfig) -> Any:
    """Return the context of a call; as a node its config has the keys of the graph around."""
    return read_context(given if call.is_node else with_configurable(given, call.told))


def _refuse_unasked(state: StateSnapshot, call: CallConfig) -> None:
    """Raise InputError where the thread waits for no answer: LangGraph would keep this one.

    A server takes an answer that comes again, and gives the state as it is.
    """
    is_later = state.metadata is not None and GATE_NODE not in state.next
    if state.interrupts or (is_later and is_server_call(call.configurable)):
        return
    said = "it has no run, or its run has ended."
    if state.next:
        said = (
            f"its run stopped before {', '.join(state.next)}. Call the graph with None as input: it"
            " goes on, and asks anew where its state was changed."
        )
    raise InputError(f"This thread waits for no answer: {said} Nothing was changed.")


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
