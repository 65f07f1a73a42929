"""Documentation of C modules, which have no Python source: it is read from the live objects.

Only modules of the standard library are imported for it: those built into the interpreter and its
own extension modules. Their import only defines names. A module of the same name in another folder,
such as a package's, is refused.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
import warnings
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .docstrings import format_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

_SIDE_EFFECTS: Final = frozenset({"readline"})
"""Extension modules that change the terminal when they are imported."""


def extension_documentation(name: str) -> str:
    """Return the documentation of one of the interpreter's own extension modules, else "".

    >>> "Return the cosine" in extension_documentation("math")
    True
    """
    module = _imported(name)
    if module is None:
        return ""
    return "\n\n".join(filter(None, [inspect.getdoc(module), *format_blocks(_public(module))]))


def format_blocks(
    objects: Iterable[tuple[str, Any]], *, members: bool = True, level: int = 2
) -> Iterator[str]:
    """Yield signature and docstring of each documented object, and of classes' methods."""
    for name, value in objects:
        is_class = isinstance(value, type)
        if (callable(value) or inspect.isdatadescriptor(value)) and inspect.getdoc(value):
            heading = f"{'class ' if is_class else ''}{name}{_signature(value)}"
            yield format_block(heading, inspect.getdoc(value), level=level)
        if members and is_class:
            methods = ((f"{name}.{method}", item) for method, item in _public(value))
            yield from format_blocks(methods, members=False, level=level + 1)


def _public(owner: Any) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(owner).items() if not name.startswith("_")]


def _signature(value: Any) -> str:
    """Return the parameters in the form of C modules, without the bound first one."""
    text: str = getattr(value, "__text_signature__", None) or ""
    if not text.startswith("($"):
        return text
    _, comma, rest = text.partition(",")
    return f"({rest.strip()}" if comma else "()"


def _imported(name: str) -> ModuleType | None:
    if name not in sys.stdlib_module_names or name in _SIDE_EFFECTS:
        return None
    try:
        spec = importlib.util.find_spec(name)
        if spec is None or not _belongs_to_the_interpreter(spec):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # deprecated modules
            return importlib.import_module(name)
    except (ImportError, ValueError):
        return None


def _belongs_to_the_interpreter(spec: ModuleSpec) -> bool:
    if spec.origin == "built-in":
        return True
    if not isinstance(spec.loader, ExtensionFileLoader):
        return False
    origin = Path(spec.origin or "").resolve()
    own = any(origin.is_relative_to(home) for home in _extension_folders())
    return own and not {"site-packages", "dist-packages"} & set(origin.parts)


def _extension_folders() -> list[Path]:
    """Return the folders of the interpreter's extension modules; virtual environments have none."""
    base = {"platbase": sys.base_exec_prefix}
    folders = [Path(sysconfig.get_path("platstdlib", vars=base)), Path(sys.base_prefix, "DLLs")]
    return [folder.resolve() for folder in folders]
