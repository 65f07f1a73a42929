"""The form of a source tree, read from its files alone: rooms, layers, lines, sizes and names."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PACKAGE: Final = "collection_search"
MAX_LINES: Final = 300
"""Of one module."""
_TYPE_VARIABLES: Final = {"TypeVar", "ParamSpec", "TypeVarTuple"}

Names = dict[str, list[str]]


@dataclass(frozen=True)
class Structure:
    """What the files of one source tree say."""

    rooms: Sequence[str]
    layers: Sequence[str]
    lines: Mapping[str, tuple[int, int]]
    """Lines of Python and of data: of the package, the tests and the benchmarks."""
    modules: int
    large: Mapping[str, int]
    """Modules above the limit, with their lines."""
    module_names: Names
    """File names without suffix that occur more than once, with their modules."""
    public_names: Names
    """Public top-level names that are defined more than once, with their modules."""


def structure(root: Path) -> Structure:
    """Return the figures of the source tree that `root` holds."""
    package = root / PACKAGE
    lengths = {_relative(path, package): _lines(path) for path in _python_files(package)}
    return Structure(
        rooms=rooms(package),
        layers=layers(root / "pyproject.toml"),
        lines={name: lines(root / name) for name in (PACKAGE, "tests", "benchmarks")},
        modules=len(lengths),
        large={name: count for name, count in lengths.items() if count > MAX_LINES},
        module_names=repeated(module_names(package)),
        public_names=repeated(public_names(package)),
    )


def summary(found: Structure) -> dict[str, int]:
    """Return the figures by name, in the order in which they are shown."""
    python, data = found.lines[PACKAGE]
    return {
        "rooms": len(found.rooms),
        "import layers": len(found.layers),
        "modules": found.modules,
        f"modules above {MAX_LINES} lines": len(found.large),
        "lines of Python": python,
        "lines of data": data,
        "lines of tests": found.lines["tests"][0],
        "lines of benchmarks": found.lines["benchmarks"][0],
        "module names used more than once": len(found.module_names),
        "public names defined more than once": len(found.public_names),
    }


def rooms(package: Path) -> list[str]:
    """Return the children of the package's root: files, and folders that hold any."""
    files = (path.relative_to(package).parts for path in _files(package))
    return sorted({parts[0] + "/" * (len(parts) > 1) for parts in files})


def layers(pyproject: Path) -> list[str]:
    """Return the import layers, top to bottom; raises LookupError where no contract names them."""
    tools = tomllib.loads(pyproject.read_text("utf-8"))["tool"]
    for contract in tools["importlinter"]["contracts"]:
        if contract["type"] == "layers" and PACKAGE in contract.get("containers", ()):
            return list(contract["layers"])
    raise LookupError(f"{pyproject} has no contract of layers for {PACKAGE}")


def lines(folder: Path) -> tuple[int, int]:
    """Return the lines of Python and those of all other text under a folder."""
    python = data = 0
    for path in _files(folder):
        if path.suffix == ".py":
            python += _lines(path)
        else:
            data += _lines(path)
    return python, data


def module_names(package: Path) -> Names:
    """Return every module's own name with the modules that have it; `__init__` is no name."""
    found: Names = defaultdict(list)
    for path in _python_files(package):
        if not path.stem.startswith("__"):
            found[path.stem].append(_relative(path, package))
    return found


def public_names(package: Path) -> Names:
    """Return every public top-level name that a module defines, with these modules.

    Imports define nothing; type variables are left out.
    """
    found: Names = defaultdict(list)
    for path in _python_files(package):
        module = _relative(path, package)
        for name in set(_defined(ast.parse(path.read_bytes()).body)):
            if not name.startswith("_"):
                found[name].append(module)
    return found


def repeated(names: Names) -> Names:
    """Return those that occur more than once.

    >>> repeated({"once": ["a"], "twice": ["a", "b"]})
    {'twice': ['a', 'b']}
    """
    return {name: sorted(modules) for name, modules in sorted(names.items()) if len(modules) > 1}


def _defined(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield statement.name
            case ast.Assign(targets=targets, value=value) if not _is_type_variable(value):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                yield name
            case ast.If() | ast.Try():
                yield from _defined([*statement.body, *statement.orelse])


def _is_type_variable(value: Any) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _TYPE_VARIABLES
    return False


def _python_files(folder: Path) -> list[Path]:
    return [path for path in _files(folder) if path.suffix == ".py"]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _relative(path: Path, package: Path) -> str:
    return path.relative_to(package).as_posix()


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines())
