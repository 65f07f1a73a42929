"""`collection-search corpus`: folders of the offline search, in addition to Python's pages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..text.counted import counted
from .shared.context_options import AsJson  # noqa: TC001 - typer reads the annotations
from .shared.near_names import SuggestingGroup
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..adapters.corpus.corpus import Corpus

_SHOWN: Final = 20

app = typer.Typer(
    cls=SuggestingGroup, add_completion=False, rich_markup_mode=None, invoke_without_command=True
)


@app.callback()
def corpus(context: typer.Context) -> None:
    """List the folders of the offline search; add or remove one."""
    if context.invoked_subcommand is None:
        list_(context)


@app.command()
def add(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="Folder with HTML, Markdown, text, RST or PDF.")],
    *,
    base_url: Annotated[
        str | None,
        typer.Option(help="Web address of the folder; by default one that ends in .invalid."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the folder; by default made from its path.")
    ] = None,
) -> None:
    """Read a folder into the offline search of every tenant. Add it again after a change."""
    screen, documents = Screen(), _corpus(context)
    with screen.bar("Reading the folder") as advance:
        folder, left_out = documents.add_folder(
            path, name=name, base_url=base_url, progress=advance
        )
    with screen.bar("Indexing") as advance:
        documents.prepare(advance)
    pages = counted(folder.pages, "page")
    screen.line(f"Added {folder.path} as {folder.name!r}: {pages} at {folder.base_url}")
    for file, reason in list(left_out.items())[:_SHOWN]:
        screen.warn(f"left out {file}: {reason}")
    if len(left_out) > _SHOWN:
        screen.warn(f"and {len(left_out) - _SHOWN} more files left out.")


@app.command("list")
def list_(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the added folders."""
    screen, folders = Screen(as_json=as_json), _corpus(context).folders()
    if as_json:
        plain = [{**asdict(folder), "path": str(folder.path)} for folder in folders]
        screen.json({"folders": plain})
        return
    if not folders:
        screen.line("No folders were added. Add one with 'collection-search corpus add PATH'.")
    for folder in folders:
        pages = counted(folder.pages, "page")
        screen.line(f"{folder.name}  {pages}  {folder.path}  {folder.base_url}")


@app.command()
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the folder, as listed.")],
) -> None:
    """Take a folder out of the offline search; its files stay where they are."""
    screen, documents = Screen(), _corpus(context)
    documents.remove_folder(name)
    with screen.bar("Indexing") as advance:
        documents.prepare(advance)
    screen.line(f"Removed {name!r} from the offline search.")


def _corpus(context: typer.Context) -> Corpus:
    """Return the caller's corpus, else the one of the settings."""
    from ..adapters.corpus.corpus import Corpus
    from ..settings import Settings

    return context.find_object(Corpus) or Corpus(Settings.load())
