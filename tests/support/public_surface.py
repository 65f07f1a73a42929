"""The public names with the names of their parameters: `python -m support.public_surface` records them.

The file `tests/public_names.txt` is the record. A change of it is a change of what users rely on.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from typing_extensions import is_typeddict

RECORD: Final = Path(__file__).parents[1] / "public_names.txt"
MODULES: Final = (
    "collection_search",
    "collection_search.contracts",
    "collection_search.ports",
    "collection_search.testing",
)


def public_surface() -> list[str]:
    """Return one line for each public name, such as `collection_search.wait(ticket_id, timeout_s=)`."""
    lines = []
    for module in MODULES:
        package = importlib.import_module(module)
        lines += [
            f"{module}.{name}{_parameters(getattr(package, name))}" for name in package.__all__
        ]
    return sorted(lines)


def _parameters(value: Any) -> str:
    """Return what the package itself declares: what comes from a library differs by its version."""
    if not isinstance(value, type):
        return _signature(value) if inspect.isfunction(value) else ""
    if issubclass(value, BaseModel):
        return f"({', '.join(_fields(value))})"
    if is_typeddict(value):
        return f"({', '.join(sorted(value.__annotations__))})"
    made_by = value.__init__ if inspect.isfunction(value.__init__) else None
    return _signature(made_by) if made_by and _is_ours(made_by) else ""


def _is_ours(value: Any) -> bool:
    return str(value.__module__).startswith("collection_search")


def _fields(model: type[BaseModel]) -> list[str]:
    ours = [
        name
        for cls in model.__mro__
        if _is_ours(cls)
        for name in vars(cls).get("__annotations__", {})
    ]
    fields = model.model_fields
    return [
        f"{name}{'' if fields[name].is_required() else '='}" for name in sorted({*ours} & {*fields})
    ]


def _signature(value: Any) -> str:
    parameters = inspect.signature(value).parameters
    return f"({', '.join(_parameter(p) for name, p in parameters.items() if name != 'self')})"


def _parameter(parameter: inspect.Parameter) -> str:
    prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    optional = "=" if parameter.default is not parameter.empty else ""
    kind = " keyword" if parameter.kind == parameter.KEYWORD_ONLY else ""
    return f"{prefix}{parameter.name}{optional}{kind}"


if __name__ == "__main__":
    RECORD.write_text("\n".join(public_surface()) + "\n", "utf-8")
