"""A review as a file: the candidates, and a decision to edit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import yaml

from ...errors import InputError
from ...text.yaml_loader import read_yaml
from ...tools.criteria.refused_pages import reason_against
from .next_steps import shell_command
from .review_decision import require_visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ...contracts.review import Gate

JSON: Final = (".json",)
YAML: Final = (".yaml", ".yml")
_DECISION: Final[Mapping[str, Any]] = {
    "status": "pending",
    "approved_urls": [],
    "added_urls": [],
    "comment": None,
    "approver": None,
}
_GUIDE: Final = """\
# Edit `decision`, then: {command}
# status: approved (all that nothing refuses, or approved_urls), partial (these and added_urls),
# rejected (none), pending (decide later). added_urls are further pages. All else is only shown.
"""


def write_review(
    path: Path, gate: Gate, visible: Sequence[int], options: Mapping[str, Any]
) -> None:
    """Write the review's visible candidates and a decision to edit to a new file.

    `options` are those of the command that applies the file. Raises InputError.
    """
    _require_suffix(path)
    require_visible(visible)
    decision = {**_DECISION, "approved_urls": _preselected(gate, visible)}
    content = {"gate": gate.gate_id, "decision": decision, **_facts(gate, visible)}
    if path.suffix in JSON:
        text = json.dumps(content, indent=2) + "\n"
    else:
        command = shell_command("review", gate.gate_id, file=str(path), **options)
        body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
        text = _GUIDE.format(command=command) + body
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} exists already: it is not overwritten, name another.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error


def _preselected(gate: Gate, visible: Sequence[int]) -> list[str]:
    """Return the visible candidates that nothing refuses, where some are not visible.

    An empty list would approve all others too.
    """
    is_filtered = len(visible) < len(gate.candidates)
    taken = [number for number in visible if not reason_against(gate.candidates[number - 1])]
    visible = taken or visible
    return [gate.candidates[number - 1]["url"] for number in visible] if is_filtered else []


def _facts(gate: Gate, visible: Sequence[int]) -> dict[str, Any]:
    return {
        "question": gate.question,
        "collection": gate.collection,
        "candidates": [
            {
                "number": number,
                "url": one["url"],
                "title": one["title"],
                "score": one["embedding_rank_score"],
                "is_pdf": one["is_pdf"],
                "in_collection": one["in_collection"],
                "snippet": one["snippet"],
                **({"criteria": one["criteria"]} if "criteria" in one else {}),
            }
            for number, one in enumerate(gate.candidates, start=1)
            if number in visible
        ],
    }


def read_decision(path: Path, gate_id: str | None) -> tuple[str, dict[str, Any]]:
    """Return the gate's id and the decision of a file; its fields are not checked here.

    The file is one of `write_review`, or has the fields of a decision alone where `gate_id` is
    given. Raises InputError.
    """
    _require_suffix(path)
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix in JSON:
            content = json.loads(text, object_pairs_hook=_unique_names)
        else:
            content = read_yaml(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except RecursionError:
        raise InputError(f"{path} has lists or maps that are nested too deeply.") from None
    except (ValueError, OverflowError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise InputError(f"{path} is no valid {path.suffix[1:]}: {problem}") from error
    decision = content.get("decision", content) if isinstance(content, dict) else None
    if not isinstance(decision, dict):
        raise InputError(f"{path} holds no decision: give a map with the key 'decision'.")
    named = content.get("gate") if "decision" in content else None
    if gate_id is not None and named not in (None, gate_id):
        raise InputError(f"{path} is about the review {named!r}, not {gate_id!r}.")
    if not isinstance(gate_id or named, str):
        raise InputError(f"{path} does not say which review it decides: name it as GATE.")
    return str(gate_id or named), _without_preselection(
        {str(key): decision[key] for key in decision}
    )


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there for the second time")
    return found


def _without_preselection(decision: dict[str, Any]) -> dict[str, Any]:
    """Return the decision; one that is pending approves nothing, whatever is preselected."""
    return decision | {"approved_urls": []} if decision.get("status") == "pending" else decision


def _require_suffix(path: Path) -> None:
    if path.suffix not in (*JSON, *YAML):
        raise InputError(f"{path} is neither YAML nor JSON: name it .yaml, .yml or .json.")
