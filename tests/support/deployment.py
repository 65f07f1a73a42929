"""The files of deploy/, read as the tools that they are for read them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any, Final

import typer
import yaml

from collection_search.cli import COMMANDS, app

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy"
KUBERNETES: Final = DEPLOY / "kubernetes"
PRODUCT: Final = "collection-search"
_REFERENCE: Final = re.compile(r"\$(?:\$|\{(\w+)(?::-([^}]*))?\})")


def compose_file() -> dict[str, Any]:
    """Return the compose file without a .env: each variable has its default."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    return yaml.safe_load(_REFERENCE.sub(lambda one: one[2] or ("" if one[1] else "$"), text))


def compose_schema() -> dict[str, Any]:
    """Return the schema of the compose specification, from the package check-jsonschema."""
    found = importlib.util.find_spec("check_jsonschema")
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).with_name("builtin_schemas") / "vendor" / "compose-spec.json"
    return json.loads(path.read_bytes())


def manifests(*names: str) -> list[dict[str, Any]]:
    """Return the objects in these files of deploy/kubernetes, by default in all of them."""
    paths = [KUBERNETES / name for name in names] or sorted(KUBERNETES.rglob("*.yaml"))
    return [
        one
        for path in paths
        if path.name != "kustomization.yaml"
        for one in yaml.safe_load_all(path.read_text("utf-8"))
    ]


def manifest(kind: str, name: str) -> dict[str, Any]:
    """Return the one object of that kind and name."""
    (found,) = (
        one for one in manifests() if (one["kind"], one["metadata"]["name"]) == (kind, name)
    )
    return found


def require_command(line: list[str]) -> None:
    """Raise ClickUsageError where the product's command does not understand its arguments."""
    program, name, *rest = line
    assert program == PRODUCT
    assert name in COMMANDS
    command = typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined, arg-type]
    _parse(command, rest)


def _parse(command: Any, arguments: list[str]) -> None:
    with command.make_context(command.name, list(arguments)) as context:
        # A group leaves its sub-command unparsed.
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        if rest and hasattr(command, "get_command"):
            sub = command.get_command(context, rest[0])
            assert sub is not None, rest
            _parse(sub, rest[1:])


def seconds(duration: str) -> float:
    """Return a duration of a compose file, which gives it in seconds."""
    return float(duration.removesuffix("s"))
