"""The setting `parsers`: functions of the operator's own that read a kind of page."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from ..errors import ConfigError
from . import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from .table import SettingsTable

_Target = Annotated[str, Field(min_length=1, max_length=300)]
_PATH: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_HOW: Final = "Write module:function, such as our_ocr:read"


class PageParsers(BaseModel):
    """The parser of each kind of page, as `module:function` or the name of an entry point."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    html: _Target | None = None
    pdf: _Target | None = None
    markdown: _Target | None = None
    rst: _Target | None = None
    text: _Target | None = None
    xml: _Target | None = None

    @property
    def named(self) -> dict[str, str]:
        """The names of the parsers by the kind that they read."""
        return self.model_dump(exclude_none=True)


PARSED_KINDS: Final = (*PageParsers.model_fields,)
"""Kinds of pages that a parser can take."""


@dataclass(frozen=True, slots=True)
class LoadedParser:
    """A parser that was imported."""

    name: str
    """As the settings name it."""
    function: Callable[..., Any]
    is_async: bool

    @property
    def place(self) -> str:
        """Where it runs, in words."""
        return "runs on the event loop" if self.is_async else "runs in a thread"


def parser_name(settings: SettingsTable, kind: str) -> str:
    """Return the name of the parser for this kind of page, blank where the built-in one reads it.

    >>> from collection_search.settings import Settings
    >>> settings = Settings(parsers={"pdf": "our_ocr:read"})
    >>> parser_name(settings, "pdf"), parser_name(settings, "html")
    ('our_ocr:read', '')
    """
    return settings.parsers.named.get(kind, "") if settings.parsers else ""


def load_parser(settings: SettingsTable, kind: str) -> LoadedParser:
    """Import the parser of a kind of page. Raises ConfigError saying what is wrong with its name.

    The name is the operator's own: no caller over a network and no stored row brings one.
    """
    name = parser_name(settings, kind)
    try:
        function = _imported(name) if ":" in name else _entry_point(name)
        _refuse_unusable(function)
    except _UnusableError as error:
        raise ConfigError(f"parsers.{kind}: {name!r} {error}") from error.__cause__
    return LoadedParser(name, function, is_async=_is_async(function))


class _UnusableError(Exception):
    """The name leads to no parser."""


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if not _PATH.fullmatch(module) or not attribute.isidentifier():
        raise _UnusableError(f"is no module and function. {_HOW}.")
    found = _module(module)
    if not hasattr(found, attribute):
        raise _UnusableError(f"names no function of the module {module}. {_HOW}.")
    return getattr(found, attribute)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(error) from error
        raise _UnusableError(
            f"names a module that is not found. {_HOW}, and install the module or name its folder"
            " in PYTHONPATH."
        ) from error
    except (Exception, SystemExit) as error:
        raise _broken(error) from error


def _broken(error: BaseException) -> _UnusableError:
    return _UnusableError(f"cannot be imported: {type(error).__name__}: {error}")


def _entry_point(name: str) -> Any:
    if name not in (known := registry.names("parsers")):
        others = f"The installed packages offer {', '.join(known)}" if known else "None is offered"
        raise _UnusableError(
            f"is no entry point of the group collection_search.parsers. {others}. {_HOW}."
        )
    try:
        return registry.load_adapter("parsers", name)
    except (Exception, SystemExit) as error:
        raise _broken(error) from error


def _refuse_unusable(function: Any) -> None:
    if isinstance(function, type) or not callable(function):
        kind = "a class" if isinstance(function, type) else f"of type {type(function).__name__}"
        raise _UnusableError(f"is {kind}, no function. {_HOW}.")
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        raise _UnusableError("cannot be called with one argument, the page.") from error
    except ValueError:
        return  # written in C, without a signature


def _is_async(function: Any) -> bool:
    called = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
