"""One name, one meaning: public names and module names of the package."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from support.benchmark_modules import benchmark

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = Path(__file__).parents[1] / "collection_search"
TWINS = {
    "app": "the Typer application of each sub-command",
    "build_graph": "each graph has one",
    "cases": "the cases of each module of the hostile site",
    "graph": "each graph, compiled with its defaults",
    "logger": "each module's own",
    "router": "the routes of one subject",
    "verify_coverage": "the tool and its stage",
}
"""Public names that stand for the same thing wherever they are defined."""
MODULE_TWINS = {
    "answer": "the contract and the tool",
    "collections": "a port and its store",
    "comparisons": "a port and its store",
    "coverage": "the contract and its routes",
    "crawls": "the tool and its part of the store",
    "error_mapping": "from a vendor's error to one of ours, for models and for searches",
    "functions": "the contract and the port",
    "gates": "a port and its store",
    "health": "what a check of a vendor says, and a server of itself",
    "health_check": "whether a vendor answers, for each kind of vendor",
    "langchain": "one library behind several ports",
    "ledger": "a port and its store",
    "openai": "one vendor behind several ports",
    "options": "the contract and the API's route",
    "problems": "pydantic's problems as sentences, and errors as the API answers them",
    "questions": "the tool and its part of the store",
    "removal": "the tool and its part of the store",
    "search": "the contract and the port",
    "service": "the contract and the tool",
    "staging": "what stages write down, and where the store keeps it",
    "tickets": "the tool and its part of the store",
    "usage": "a port and its store",
}
"""Module names that stand for the same thing in each room."""


ENGINES = re.compile("^adapters/stores/(sql|sqlite|postgres)/.*")


def rooms(modules: Iterable[str]) -> list[str]:
    """Return the modules; those of the engines of one store are one room: each has the same parts."""
    return list(dict.fromkeys(ENGINES.sub("adapters/stores/*", one) for one in modules))


def test_a_public_name_is_defined_once() -> None:
    """Except constants, sub-commands, the doubles of providers, and the twins above."""
    structure = benchmark("structure")
    commands = {name for path in (PACKAGE / "cli").glob("*.py") for name in sub_commands(path)}
    found: dict[str, list[str]] = {}
    for name, modules in structure.public_names(PACKAGE).items():
        if name.isupper() or name in TWINS:
            continue
        found[name] = [
            module
            for module in rooms(modules)
            if not module.startswith("testing/providers/")
            and not (module.startswith("cli/") and name in commands)
        ]
    assert not (twice := structure.repeated(found)), listed(twice)


def test_a_module_s_name_stands_for_one_thing() -> None:
    """A sub-command is called like what it does, a double like what it stands in for."""
    structure = benchmark("structure")
    found = {
        name: [module for module in rooms(modules) if not is_of_command_or_double(module)]
        for name, modules in structure.module_names(PACKAGE).items()
        if name not in MODULE_TWINS
    }
    assert not (twice := structure.repeated(found)), listed(twice)


def test_every_permitted_twin_exists() -> None:
    """Who renames one takes it from the list."""
    structure = benchmark("structure")
    names = structure.repeated(structure.public_names(PACKAGE))
    modules = structure.repeated(structure.module_names(PACKAGE))
    assert (TWINS.keys() - names.keys(), MODULE_TWINS.keys() - modules.keys()) == (set(), set())


def listed(names: dict[str, list[str]]) -> str:
    return "\n".join(f"{name}: {', '.join(modules)}" for name, modules in names.items())


def is_of_command_or_double(module: str) -> bool:
    return module.startswith("testing/") or Path(module).parent.name == "cli"


def sub_commands(path: Path) -> set[str]:
    """Return the functions of a module that Typer's `command` or `callback` takes."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.FunctionDef(name=name, decorator_list=decorators):
                if any(registers(decorator) for decorator in decorators):
                    found.add(name)
            case ast.Call(func=function, args=[ast.Name(id=name) | ast.Attribute(attr=name)]):
                if registers(function):
                    found.add(name)
    return found


def registers(node: ast.expr) -> bool:
    """Say whether it is a call of Typer's `command` or `callback`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="command" | "callback")):
            return True
    return False
