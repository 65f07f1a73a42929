"""Identity of a run: tenant, case, workflow and ids."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError
from pydantic.json_schema import SkipJsonSchema

from ..contracts.search import BusinessContext, Identifier, Name, ScopeContext, ToolContext
from ..errors import ConfigError
from ..ports import TraceRef
from ..ports.tracing import DEFAULT_WORKFLOW
from ..text.problems import describe_problems
from . import Settings
from .process_defaults import process_settings

if TYPE_CHECKING:
    from ..contracts.price_list import PriceList
    from ..contracts.state import RunIds

_KEY: Final = "collection_search"
"""The attribute or key of a host's own context that has ours."""


class RunIdentity(BaseModel):
    """Tenant, case, workflow and ids of a run, with defaults from the settings."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    tenant_id: SkipJsonSchema[Name | None] = None
    """Owner of the collections; on a server always the authenticated user."""
    case_id: Identifier | None = Field(
        default=None, description="Your own case or ticket number.", examples=["CASE-7421"]
    )
    workflow_id: Identifier | None = Field(
        default=None,
        description="Name of the workflow that asks; by default the graph's name.",
        examples=["nightly-import"],
    )
    trace_id: Identifier | None = Field(
        default=None,
        description="Seed of the trace; by default the run's id.",
        examples=["order-66-import"],
    )
    invocation_id: SkipJsonSchema[Identifier | None] = None
    run_id: SkipJsonSchema[Identifier | None] = None
    settings: SkipJsonSchema[InstanceOf[Settings] | None] = None

    @classmethod
    def found_in(cls, given: Any) -> Self:
        """Return the context that `given` is or has as `collection_search`; else a new one.

        Raises ConfigError where that is no context.
        """
        if isinstance(given, cls):
            return given
        is_map = isinstance(given, Mapping)
        inner = given.get(_KEY) if is_map else getattr(given, _KEY, None)
        if inner is None or isinstance(inner, cls):
            return inner or cls()
        return cls.from_map(inner)

    @classmethod
    def from_map(cls, given: Any) -> Self:
        """Return the context with these fields. Raises ConfigError naming each wrong one."""
        if not isinstance(given, Mapping):
            raise ConfigError(f"The context is not valid: give a map, or a {cls.__name__}.")
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            said = describe_problems(error, cls.model_fields)
            raise ConfigError(f"The context is not valid. {said}") from error

    def using(self) -> Settings:
        """Return the settings of this run. Raises ConfigError naming the wrong setting."""
        return self.settings or process_settings()

    def prices(self) -> PriceList:
        """Return the prices by which this run counts."""
        return self.using().price_list

    def ids(self, run_id: str | None = None) -> RunIds:
        """Return the ids of a new run; `run_id` is the host's own, if any."""
        run = self.run_id or run_id or f"run-{uuid.uuid4().hex}"
        return {
            "run_id": run,
            "trace_id": self.trace_id or run,
            "invocation_id": self.invocation_id or str(uuid.uuid4()),
        }

    def provenance(self, ids: RunIds, *, approved_by: str) -> dict[str, Any]:
        """Return the facts of a run that each page has which it brings."""
        case = {"case_id": self.case_id} if self.case_id else {}
        return {"approved_by": approved_by, "workflow_id": self.workflow(), **ids, **case}

    def tool_context(self, ids: RunIds) -> ToolContext:
        """Return the context of a tool call within the run."""
        return ToolContext(
            scope=ScopeContext(tenant_id=self.tenant(), **ids),
            business=BusinessContext(workflow_id=self.workflow(), case_id=self.case_id),
        )

    def trace(self, ids: RunIds, *, run: str | None = None) -> TraceRef:
        """Return the trace that the run's observations belong to.

        With `run` they are parts of the observation of that run.
        """
        return TraceRef(
            trace_id=ids["trace_id"],
            trace_name=self.workflow(),
            session_id=self.case_id,
            tenant_id=self.tenant(),
            run=run,
        )

    def workflow(self) -> str:
        """Return the name of the workflow that asks."""
        return self.workflow_id or DEFAULT_WORKFLOW

    def tenant(self) -> str:
        """Return the owner of the collections that this run reads and writes."""
        return self.tenant_id or self.using().tenant
