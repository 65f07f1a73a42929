"""Completion by the shell: of sub-commands and options, and of the names of collections."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator  # noqa: TC003 - typer reads it from the signature

import typer


def complete_if_asked(name: str, app: typer.Typer) -> None:
    """Print the completions and exit where a shell asks for them, by a variable as typer does."""
    if f"_{name.replace('-', '_').upper()}_COMPLETE" not in os.environ:
        return
    logging.disable()  # a warning would appear in the line that is being typed
    typer.main.get_command(app).main([], prog_name=name)


def complete_collections(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the collections of the tenant whose names begin so; none where they cannot be read."""
    from ...context import SearchContext
    from ...errors import CollectionSearchError
    from ...runtime.file_presence import has_file
    from ...settings import Settings
    from .stored_collections import open_collections

    try:
        settings = Settings.load()
        if not has_file(settings.collections_path):  # asking for names makes no database
            return
        store, owner = open_collections(
            SearchContext(settings=settings, tenant_id=context.params.get("tenant"))
        )
        infos = store.collections(owner)
    except CollectionSearchError:
        return
    yield from (one.collection for one in infos if one.collection.startswith(incomplete))
