"""The sub-command or option that somebody means who gives a name that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import typer
import typer.core

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# Newer versions of typer contain a copy of click; this base class works with both.
ClickUsageError = cast("type[Exception]", typer.BadParameter.__base__)

_COMMAND_WORDS: Final = {
    "add": ("ingest add",),
    "answer": ("ask",),
    "approve": ("review",),
    "auth": ("keys set",),
    "budget": ("costs",),
    "check": ("doctor",),
    "config": ("doctor",),
    "crawl": ("ingest add", "add"),
    "create": ("run", "add", "set"),
    "del": ("delete", "remove", "collections delete"),
    "delete": ("remove", "collections delete"),
    "download": ("page", "export"),
    "drop": ("delete", "remove", "collections delete"),
    "dump": ("export", "collections export"),
    "evaluate": ("eval",),
    "export": ("collections export",),
    "fetch": ("page", "ingest add", "add"),
    "find": ("search",),
    "get": ("page", "show", "list"),
    "import": ("collections import",),
    "index": ("ingest add", "add"),
    "info": ("show", "collections show"),
    "jobs": ("worker",),
    "list": ("collections list",),
    "load": ("import", "collections import"),
    "login": ("keys set", "set"),
    "ls": ("list", "collections list"),
    "new": ("run", "add", "set"),
    "price": ("costs",),
    "query": ("ask",),
    "read": ("page",),
    "refresh": ("collections refresh",),
    "remove": ("delete", "collections delete"),
    "retry": ("retry-failed", "ingest retry-failed"),
    "rm": ("delete", "remove", "collections delete"),
    "scrape": ("page", "add"),
    "serve": ("mcp",),
    "server": ("mcp",),
    "show": ("list", "collections show"),
    "spend": ("costs",),
    "status": ("doctor", "show", "list"),
    "sync": ("refresh", "collections refresh"),
    "test": ("doctor",),
    "update": ("refresh", "collections refresh"),
    "usage": ("costs",),
}
"""Words of other programs: the first that the group has is meant, with two words a sub-group's."""

_RESULT_COUNTS: Final = ("max-results", "max-candidates", "k", "last", "max-pages", "queries")
_OPTION_WORDS: Final = {
    **dict.fromkeys(
        ("limit", "n", "num", "count", "max", "results", "size", "top", "max-results"),
        _RESULT_COUNTS,
    ),
    **dict.fromkeys(("budget", "ceiling", "max-usd", "max-price"), ("max-cost",)),
    **dict.fromkeys(("backend", "engine", "vendor"), ("provider",)),
    **dict.fromkeys(("embedder", "embedding"), ("embeddings",)),
    **dict.fromkeys(("force", "y", "f", "assume-yes", "no-confirm"), ("yes",)),
    **dict.fromkeys(("format", "output", "o", "out"), ("json", "report", "output")),
    **dict.fromkeys(("lang", "locale"), ("language",)),
    **dict.fromkeys(("name", "collection-name", "db", "index"), ("collection",)),
    **dict.fromkeys(("pages", "max-depth"), ("max-pages", "depth")),
    **dict.fromkeys(("recursive", "r", "follow"), ("depth",)),
    **dict.fromkeys(("site", "domain", "domains"), ("include",)),
    **dict.fromkeys(("time", "recency", "date", "since"), ("freshness", "since")),
    "dry-run": ("estimate",),
    "ingest": ("auto-ingest",),
    "llm": ("model",),
    "region": ("country",),
    "threshold": ("min-score",),
    "url": ("add", "document"),
    "user": ("tenant", "approver"),
}
"""Words of other programs: the first that the command has is meant."""
_LEAST_RATIO: Final = 0.6


class SuggestingGroup(typer.core.TyperGroup):
    """A group of sub-commands that knows what is meant by a name that it does not have."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the sub-command with its arguments. Raises an error that names the meant one."""
        try:
            return super().resolve_command(ctx, args)
        except ClickUsageError as error:
            if (meant := near_command(args[0], self.list_commands(ctx))) is None:
                raise
            raise type(error)(
                f"No such command '{args[0]}'. Did you mean '{meant}'?", ctx
            ) from error


def near_command(given: str, names: Collection[str]) -> str | None:
    """Return the command of the group that is meant, None where none comes near.

    >>> names = ["run", "ask", "collections", "doctor"]
    >>> near_command("ls", names), near_command("aks", names), near_command("nothing", names)
    ('collections list', 'ask', None)
    """
    word = given.lower()
    for meant in _COMMAND_WORDS.get(word, ()):
        if meant.partition(" ")[0] in names:
            return meant
    return _nearest(word, names)


def near_option(given: str, names: Collection[str]) -> str | None:
    """Return the long option that is meant, None where none comes near.

    >>> near_option("--limit", ["--provider", "--max-candidates"])
    '--max-candidates'
    >>> near_option("--providr", ["--provider", "--max-candidates"])
    '--provider'
    """
    word = given.lstrip("-").lower().replace("_", "-")
    for meant in _OPTION_WORDS.get(word, ()):
        if f"--{meant}" in names:
            return f"--{meant}"
    return _nearest(f"--{word}", names)


def explain_option(error: Any) -> str | None:
    """Return the sentence about an unknown option, None for an error of another kind."""
    given = getattr(error, "option_name", None)
    if type(error).__name__ != "NoSuchOption" or not given or error.ctx is None:
        return None
    command = error.ctx.command
    if (meant := near_option(given, [*_long_options(command.params)])) is not None:
        return f"No such option: {given}. Did you mean {meant}?"
    if hasattr(command, "list_commands"):
        return f"No such option here: {given}. Options of a sub-command stand after its name."
    return f"No such option: {given}"


def refuse_swallowed(param: typer.CallbackParam, given: Any) -> Any:
    """Return the values of an option, as its callback.

    Raises BadParameter where one looks like an option: the value before it was forgotten.
    """
    for value in given or ():
        if value.startswith("--"):
            raise typer.BadParameter(f"{param.metavar} is missing before {value}")
    return given


def _long_options(parameters: Iterable[Any]) -> Iterable[str]:
    for parameter in parameters:
        if parameter.param_type_name == "option":
            names = (*parameter.opts, *parameter.secondary_opts)
            yield from (name for name in names if name.startswith("--"))


def _nearest(given: str, names: Collection[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(given, names, n=1, cutoff=_LEAST_RATIO)), None)
