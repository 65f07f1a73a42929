"""Documentation of a Python module, read from its source without importing it."""

from __future__ import annotations

import ast
import textwrap
import warnings
from typing import TYPE_CHECKING, Final, TypeAlias

from ..crawl.extract.markup import rst_headings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Definition: TypeAlias = _Function | ast.ClassDef

_SIGNATURE_CHARS: Final = 300
_HIDDEN: Final = frozenset({"overload", "setter", "deleter"})
_ATTRIBUTES: Final = frozenset({"property", "cached_property"})


def documentation(source: bytes) -> str:
    r"""Return docstrings below signatures of the public names, which are headings.

    The result is empty if this Python cannot parse the source.

    >>> print(documentation(b'def add(a: int, b=1):\n    "Return the sum."'))
    ## add(a, b=1)
        Return the sum.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are for the authors of the source
            module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    own = rst_headings(ast.get_docstring(module) or "", outermost=2)
    return "\n\n".join(filter(None, [own, *_blocks(module.body)]))


def format_block(heading: str, text: str | None, *, level: int = 2) -> str:
    """Return the text indented below its heading, as `help()` shows it."""
    return f"{'#' * level} {heading}\n{textwrap.indent(text or '', '    ')}".rstrip()


def _blocks(body: Iterable[ast.stmt], owner: str = "") -> Iterator[str]:
    for node in _definitions(body):
        if node.name.startswith("_") or _decorators(node) & _HIDDEN:
            continue
        level = 3 if owner else 2
        yield format_block(_heading(node, owner), ast.get_docstring(node), level=level)
        if isinstance(node, ast.ClassDef):
            yield from _blocks(node.body, f"{owner}{node.name}.")


def _definitions(body: Iterable[ast.AST]) -> Iterator[_Definition]:
    """Yield functions and classes, also those inside `if` and `try`."""
    for node in body:
        if isinstance(node, _Definition):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler):
            for part in ("body", "handlers", "orelse"):
                yield from _definitions(getattr(node, part, ()))


def _heading(node: _Definition, owner: str) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {owner}{node.name}{_constructor(node)}"
    if _decorators(node) & _ATTRIBUTES:
        return f"{owner}{node.name}"
    bound = bool(owner) and "staticmethod" not in _decorators(node)
    return f"{owner}{node.name}{_signature(node.args, bound=bound)}"


def _constructor(node: ast.ClassDef) -> str:
    for item in node.body:
        if isinstance(item, _Function) and item.name == "__init__":
            return _signature(item.args, bound=True)
    return ""


def _signature(arguments: ast.arguments, *, bound: bool) -> str:
    """Return the parameters without annotations, and without the first one when `bound`."""
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*named, arguments.vararg, arguments.kwarg):
        if argument:
            argument.annotation = None
    positional = arguments.posonlyargs or arguments.args
    if bound and positional:
        positional.pop(0)
        arguments.defaults = arguments.defaults[-(len(named) - 1) or None :]
    text = ast.unparse(arguments)
    return f"({text if len(text) <= _SIGNATURE_CHARS else text[:_SIGNATURE_CHARS] + '...'})"


def _decorators(node: _Definition) -> set[str]:
    """Return the last part of every decorator's name: `typing.overload` is `overload`."""
    return {
        target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        for decorator in node.decorator_list
        for target in [decorator.func if isinstance(decorator, ast.Call) else decorator]
    }
