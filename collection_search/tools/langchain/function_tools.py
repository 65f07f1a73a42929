"""The functions that models call, as LangChain tools.

Each takes the model's arguments as they are defined in `collection_search.contracts.functions`.
The model gets a short text; `ToolMessage.artifact` has the whole output as JSON-plain values.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, ClassVar, Final, TypeAlias

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolArg, ToolException
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError
from pydantic.json_schema import SkipJsonSchema

from ...context import SearchContext
from ...contracts.functions import (
    COLLECTION_SEARCH,
    READ_PAGE,
    RETRIEVE,
    WEB_SEARCH,
    CollectionSearchArguments,
    FunctionDefinition,
    FunctionOutput,
    FunctionResult,
    ReadPageArguments,
    RetrieveArguments,
    WebSearchArguments,
    WebSearchOutput,
)
from ...contracts.options import NO_OPTIONS, SearchOptions
from ...runtime.cancellation import ends_caller
from ...runtime.concurrency import run_blocking
from ...text.problems import describe_problems
from ..failed_calls import failed_call
from ..function_calls import call_validated, call_web_search
from ..search.outcome_error import outcome_error
from ..search.search_worker import WebSearchWorker

Runtime = Annotated[Any, InjectedToolArg]
"""The `ToolRuntime` that LangGraph's ToolNode gives a parameter of the name `runtime`."""

_ToolOutput: TypeAlias = tuple[str | ToolMessage, dict[str, Any] | None]
_call_id: ContextVar[str | None] = ContextVar("collection_search_tool_call_id", default=None)
"""Of the model's call that is being answered."""


class WithRuntime(BaseModel):
    """An argument that the model neither sees nor gives.

    The fields of the class that is named last come first, and LangChain takes a plain text for the
    first one: name this class before the function's own arguments.
    """

    runtime: Annotated[SkipJsonSchema[Any], InjectedToolArg] = Field(default=None, exclude=True)


class WebSearchInputs(WithRuntime, WebSearchArguments):
    """Arguments of `WebSearchTool`."""


class RetrieveInputs(WithRuntime, RetrieveArguments):
    """Arguments of `RetrieveTool`."""


class CollectionSearchInputs(WithRuntime, CollectionSearchArguments):
    """Arguments of `CollectionSearchTool`."""


class ReadPageInputs(WithRuntime, ReadPageArguments):
    """Arguments of `ReadPageTool`."""


def _explain_validation_error(error: Any) -> str:
    if isinstance(error, ValidationError):
        return f"Error: The arguments cannot be used. {describe_problems(error)}"
    return f"Error: The arguments cannot be used. {error}"


class FunctionTool(BaseTool):
    """Base of the tools: validates, calls, and turns a failure into an error for the model.

    Without a `search_context` a tool takes that of the graph that it runs in, else the settings;
    a `search_context` without a tenant has the graph's. LangGraph's ToolNode and agents give the
    graph's runtime; a node that calls a tool itself gives it as the argument `runtime`. A failed
    call is an error message for the model, with the output, where there is one, as artifact;
    `handle_tool_error=False` lets a ToolException through, and a handler of your own gets it, with
    the error that led to it as its cause. A plain text in place of the arguments is the first one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    definition: ClassVar[FunctionDefinition[Any]]

    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True
    handle_validation_error: Any = _explain_validation_error
    search_context: InstanceOf[SearchContext] | None = Field(default=None, exclude=True, repr=False)
    """Tenant, provider, model and store of the calls."""

    def run(
        self,
        tool_input: str | dict[str, Any],
        *args: Any,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the text, or the message that answers the call of this id."""
        with _answering(tool_call_id):
            return super().run(tool_input, *args, tool_call_id=tool_call_id, **kwargs)

    async def arun(
        self,
        tool_input: str | dict[str, Any],
        *args: Any,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the same as `run`."""
        with _answering(tool_call_id):
            return await super().arun(tool_input, *args, tool_call_id=tool_call_id, **kwargs)

    def _run(self, *text: str, runtime: Runtime = None, **arguments: Any) -> _ToolOutput:
        return run_blocking(self._arun(*text, runtime=runtime, **arguments))

    async def _arun(self, *text: str, runtime: Runtime = None, **arguments: Any) -> _ToolOutput:
        named = dict(zip(self.definition.arguments.model_fields, text, strict=False))
        try:
            given = self.definition.validate_arguments(named | arguments)
            result = await self._call(given, self._context(runtime), runtime)
        except BaseException as error:
            if ends_caller(error):
                raise
            raise ToolException(failed_call(error).text) from error
        if result.is_error or result.output is None:
            return self._error_message(result), None
        return result.text, result.output.model_dump(mode="json")

    def _error_message(self, result: FunctionResult) -> ToolMessage:
        """Return the answer to a model's call; the one that LangChain makes has no artifact.

        Raises ToolException where LangChain or a handler of the program's own has to answer.
        """
        call_id, output = _call_id.get(), result.output
        if call_id is None or output is None or self.handle_tool_error is not True:
            raise ToolException(result.text) from _cause(output)
        return ToolMessage(
            result.text,
            artifact=output.model_dump(mode="json"),
            tool_call_id=call_id,
            name=self.name,
            status="error",
        )

    def _context(self, runtime: Any) -> SearchContext:
        """Return the tool's own context, or the graph's.

        Tenant and trace are by default the graph's: all calls of a run stand in one trace.
        """
        around = SearchContext() if runtime is None else SearchContext.of(runtime)
        own = self.search_context or around
        info = getattr(runtime, "execution_info", None)
        update = {
            "tenant_id": own.tenant_id or around.tenant_id,
            "trace_id": own.trace_id or around.trace_id or getattr(info, "run_id", None),
        }
        return own.model_copy(update=update)

    async def _call(self, arguments: Any, context: SearchContext, runtime: Any) -> FunctionResult:
        on_progress = _progress_of(runtime, self.name)
        return await call_validated(arguments, context, on_progress=on_progress)


class WebSearchTool(FunctionTool):
    """Searches the web: one query, up to ten results with title, URL and snippet."""

    definition: ClassVar = WEB_SEARCH

    name: str = WEB_SEARCH.name
    description: str = WEB_SEARCH.description
    args_schema: Any = WebSearchInputs
    worker: InstanceOf[WebSearchWorker] | None = Field(default=None, exclude=True, repr=False)
    """Your own worker; by default the context's provider, with its fallback."""
    options: SearchOptions = NO_OPTIONS
    """Options of every search, such as domains; the model sets only what it is told of."""
    total_tokens: int | None = Field(default=None, ge=1)
    """Tokens of all results together; without it only each result has a limit."""
    summarize: Callable[[str, str, int], Awaitable[str]] | None = Field(default=None, exclude=True)
    """Summarizes long contents of a deep search, such as `summarizer_of(model)`; you pay for it."""

    async def _call(self, arguments: Any, context: SearchContext, runtime: Any) -> FunctionResult:  # noqa: ARG002
        return await call_web_search(
            arguments,
            context,
            options=self.options,
            worker=self.worker,
            total_tokens=self.total_tokens,
            summarize=self.summarize,
        )


class RetrieveTool(FunctionTool):
    """Finds passages of a collection, with their sources."""

    definition: ClassVar = RETRIEVE

    name: str = RETRIEVE.name
    description: str = RETRIEVE.description
    args_schema: Any = RetrieveInputs


class CollectionSearchTool(FunctionTool):
    """Searches the web for a question and stores the best pages in a collection."""

    definition: ClassVar = COLLECTION_SEARCH

    name: str = COLLECTION_SEARCH.name
    description: str = COLLECTION_SEARCH.description
    args_schema: Any = CollectionSearchInputs


class ReadPageTool(FunctionTool):
    """Reads the text of one web page through the safe fetch."""

    definition: ClassVar = READ_PAGE

    name: str = READ_PAGE.name
    description: str = READ_PAGE.description
    args_schema: Any = ReadPageInputs


TOOLS: Final = (WebSearchTool, RetrieveTool, CollectionSearchTool, ReadPageTool)


@contextmanager
def _answering(call_id: str | None) -> Iterator[None]:
    """Let the tool know which call of a model it answers."""
    token = _call_id.set(call_id)
    try:
        yield
    finally:
        _call_id.reset(token)


def _cause(output: FunctionOutput | None) -> Exception | None:
    """Return the error of a search that the provider refused or did not answer."""
    if isinstance(output, WebSearchOutput) and output.outcome.decision == "error":
        return outcome_error(output.outcome)
    return None


def _progress_of(runtime: Any, name: str) -> Callable[[float, float, str], Awaitable[None]] | None:
    """Return a function that writes progress to the graph's custom stream; None without one."""
    write = getattr(runtime, "stream_writer", None)
    if write is None:
        return None

    async def report(done: float, total: float, message: str) -> None:
        write(
            {"type": "tool_progress", "tool": name, "done": done, "total": total, "text": message}
        )

    return report
