"""Records of observations as OpenTelemetry's spans with the attributes that Langfuse documents.

Nothing is masked before: this is the one place where texts leave for the server.
"""

from __future__ import annotations

import json
import math
import os
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Status, StatusCode

from ...ports import FullQuery
from ...text.clean import to_unicode
from ...text.redaction import SECRET, is_secret_name, mask, mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...ports import Scalar, TraceRef
    from .observations import ObservationRecord

SERVICE: Final = "collection-search"
"""Name of the service, where `OTEL_SERVICE_NAME` gives none."""
SCOPE: Final = "langfuse-sdk"
"""Instrumentation scope of observations; Langfuse reads the public key from its attributes."""
MAX_TRACE_VALUE_CHARS: Final = 198
"""Langfuse drops values of a whole trace past 200 characters, quotes of their JSON included."""

_OBSERVATION: Final = "langfuse.observation."
_OF_MODELS: Final = frozenset({"generation", "embedding"})
_SAFE_INT: Final = 2**53 - 1
"""Larger numbers lose digits in JavaScript, as which the server reads them."""
_dumps: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class SpanWriter:
    """Writes the spans of one project."""

    def __init__(self, public_key: str) -> None:
        self._scope = InstrumentationScope(SCOPE, attributes={"public_key": public_key})
        self._resource = service_resource()
        self._constant = {
            name: value
            for name, variable in (
                ("langfuse.environment", "LANGFUSE_TRACING_ENVIRONMENT"),
                ("langfuse.release", "LANGFUSE_RELEASE"),
            )
            if (value := os.environ.get(variable))
        }

    def write(self, records: Iterable[ObservationRecord]) -> list[ReadableSpan]:
        """Return the spans; what several of them say is masked once."""

        @cache
        def masked(text: str, personal: bool) -> str:  # noqa: FBT001 - a key of the cache
            return mask_text(to_unicode(text), personal=personal)

        wide = cache(trace_attributes)
        return [self._span(record, masked, wide) for record in records]

    def _span(
        self,
        record: ObservationRecord,
        masked: Callable[[str, bool], str],
        wide: Callable[[TraceRef, bool], Mapping[str, str]],
    ) -> ReadableSpan:
        attributes: dict[str, Any] = {**self._constant, f"{_OBSERVATION}type": record.kind}
        for trace, is_named in record.traces:
            attributes |= wide(trace, is_named)
        if record.is_app_root is not None:
            attributes["langfuse.internal.is_app_root"] = record.is_app_root
        attributes |= _field_attributes(record.fields, masked)
        attributes |= _fact_attributes(record.kind, record.facts)
        if record.question is not None:
            attributes[f"{_OBSERVATION}input"] = masked(record.question, True)  # noqa: FBT003
        if record.result:
            attributes[f"{_OBSERVATION}output"] = _dumps(mask(dict(record.result)))
        return ReadableSpan(
            to_unicode(record.name),
            record.ids,
            record.parent,
            self._resource,
            attributes,
            status=_status(record.facts),
            start_time=record.started_ns,
            end_time=record.ended_ns,
            instrumentation_scope=self._scope,
        )


def shown_fields(
    fields: Mapping[str, Scalar], masked: Callable[[str, bool], str]
) -> dict[str, Scalar]:
    """Return the fields without secrets, and without personal data but in a full query."""
    return {name: _shown(name, value, masked) for name, value in fields.items()}


def trace_attributes(trace: TraceRef, is_named: bool) -> dict[str, str]:  # noqa: FBT001
    """Return the attributes of all observations of a trace; a host's trace keeps its name."""
    attributes = {"langfuse.trace.name": trace_value(trace.trace_name)} if is_named else {}
    if trace.session_id:
        attributes["session.id"] = trace_value(trace.session_id)
    if trace.tenant_id:
        attributes["langfuse.trace.metadata.tenant_id"] = _dumps(trace_value(trace.tenant_id))
    return attributes


def trace_value(text: str) -> str:
    """Return a value of a whole trace as Langfuse accepts it."""
    ascii_text = mask_text(text).encode("ascii", "xmlcharrefreplace").decode()
    return ascii_text[:MAX_TRACE_VALUE_CHARS]


def service_resource() -> Resource:
    """Return what the environment says of this process, with a name of the service at any rate."""
    found = Resource.create()
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    return found if named else found.merge(Resource({SERVICE_NAME: SERVICE}))


def _shown(name: str, value: Scalar, masked: Callable[[str, bool], str]) -> Scalar:
    if not isinstance(value, str):
        return value
    if value and _is_secret(name):
        return SECRET
    is_full = isinstance(value, FullQuery)
    return masked(str(value), not is_full)


_is_secret: Final = lru_cache(1024)(is_secret_name)


def _field_attributes(
    fields: Mapping[str, Scalar], masked: Callable[[str, bool], str]
) -> dict[str, str]:
    return {
        f"{_OBSERVATION}metadata.{name}": _json(value)
        for name, value in shown_fields(fields, masked).items()
    }


def _json(value: Scalar) -> str:
    """Return the JSON of a scalar that every reader understands alike."""
    text = _dumps(value)
    is_endless = isinstance(value, float) and not math.isfinite(value)
    is_long = isinstance(value, int) and abs(value) > _SAFE_INT
    return f'"{text}"' if is_endless or is_long else text


def _fact_attributes(kind: str, facts: Mapping[str, Any]) -> dict[str, str]:
    """Return level, model, usage and cost; a tool has a cost alone, other kinds have neither."""
    found = {name: facts[name] for name in ("level", "status_message") if name in facts}
    if kind in _OF_MODELS and "model" in facts:
        found["model.name"] = facts["model"]
        if facts["usage_details"]:
            found["usage_details"] = _dumps(facts["usage_details"])
    if (kind in _OF_MODELS or kind == "tool") and facts.get("cost_details"):
        found["cost_details"] = _dumps(facts["cost_details"])
    return {f"{_OBSERVATION}{name}": value for name, value in found.items()}


def _status(facts: Mapping[str, Any]) -> Status:
    if facts.get("level") != "ERROR":
        return Status(StatusCode.UNSET)
    return Status(StatusCode.ERROR, facts["status_message"])
