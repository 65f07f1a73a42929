"""`collection-search keys`: keys in the system's keyring; no key is ever printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .shared.context_options import AsJson  # noqa: TC001 - typer reads the annotations
from .shared.near_names import SuggestingGroup
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..settings import Settings

ProviderArgument = Annotated[
    str,
    typer.Argument(metavar="PROVIDER", help="Search provider, or openai, embeddings, langfuse."),
]

app = typer.Typer(
    cls=SuggestingGroup, add_completion=False, rich_markup_mode=None, invoke_without_command=True
)


@app.callback()
def keys(context: typer.Context) -> None:
    """Keep keys in the system keyring; list where each comes from."""
    if context.invoked_subcommand is None:
        list_()


@app.command("set", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def set_(context: typer.Context, provider: ProviderArgument) -> None:
    """Keep a key in the system keyring. It is asked for, or read from a pipe."""
    from ..errors import InputError
    from ..settings import Settings
    from ..settings.key_sources import known_key_name
    from ..settings.keyring import entry_of, store_key

    settings = Settings.load()
    name = known_key_name(settings, provider)
    if context.args:
        raise InputError(
            "A key is no argument: others could read it there, and the shell keeps it. "
            f"Run 'collection-search keys set {name}' and type it, or send it through a pipe."
        )
    store_key(settings.prepared_home(), name, _asked_for(name))
    screen = Screen()
    screen.line(f"The key of {name} is in the system keyring, as {entry_of(name)}.")
    _warn_of_others(settings, name, screen)
    screen.note("Check it with: collection-search doctor")


@app.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List the keys by name, with where each comes from."""
    from ..settings import Settings
    from ..settings.key_sources import found_keys, shown_key

    settings, screen = Settings.load(), Screen(as_json=as_json)
    held = found_keys(settings)
    rows = [shown_key(settings, key) for key in held]
    if as_json:
        screen.json({"keys": rows})
        return
    if not rows:
        screen.line("There are no keys. Keep one with 'collection-search keys set PROVIDER'.")
    for row, key in zip(rows, held, strict=True):
        shown = row["problem"] or (f"ends in {row['ending']}" if row["ending"] else "")
        source = f"environment ({key.variable})" if key.source == "environment" else key.source
        screen.line("  ".join(filter(None, (row["name"], source, shown))))


@app.command()
def remove(provider: ProviderArgument) -> None:
    """Remove a key from the system keyring."""
    from ..settings import Settings
    from ..settings.key_sources import known_key_name
    from ..settings.keyring import remove_key

    settings, screen = Settings.load(), Screen()
    name = known_key_name(settings, provider)
    if remove_key(settings.prepared_home(), name):
        screen.line(f"The key of {name} is no longer in the system keyring.")
    else:
        screen.line(f"The system keyring has no key of {name}.")
    _warn_of_others(settings, name, screen)


def _asked_for(name: str) -> str:
    """Return the key, typed without echo or read from a pipe. Raises InputError."""
    from ..settings.keyring import cleaned_key

    if sys.stdin.isatty():
        key = typer.prompt(f"Key of {name}", default="", hide_input=True, show_default=False)
    else:
        key = sys.stdin.read()
    return cleaned_key(str(key))


def _warn_of_others(settings: Settings, name: str, screen: Screen) -> None:
    """Warn of another source of the key, which is used before the keyring."""
    from ..settings.key_sources import find_key, given_key

    if given_key(settings, name) is not None and (held := find_key(settings, name)):
        screen.warn(f"{name} has a key from {held.where} too, which is taken before the keyring's.")
