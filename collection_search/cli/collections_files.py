"""`collection-search collections export` and `import`: a collection as a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads it from the signature
from typing import Annotated

import typer

from ..errors import InputError
from ..text.counted import counted
from .shared.context_options import Tenant, search_context
from .shared.stored_collections import NameArgument, find_collection, open_collections
from .shared.terminal import Screen


class Form(StrEnum):
    """How a collection is written."""

    JSONL = "jsonl"
    PARQUET = "parquet"


def export(
    name: NameArgument,
    *,
    form: Annotated[
        Form, typer.Option("--format", help="parquet needs the extra of that name.")
    ] = Form.JSONL,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to, if not stdout.")
    ] = None,
    tenant: Tenant = None,
) -> None:
    """Write a collection in canonical form, one JSON object a line.

    Two collections with the same content give the same lines, whenever they were filled.
    """
    from ..tools.portable.files import export_file, export_lines

    store, scope = find_collection(name, search_context(tenant_id=tenant))
    if output is not None:
        documents = export_file(store, scope, output, form=form.value)
        Screen().note(f"Wrote {counted(documents, 'document')} to {output}.")
        return
    if form is Form.PARQUET:
        raise InputError("Parquet goes to a file: name it by --output.")
    for line in export_lines(store, scope):
        print(line)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What export wrote.")],
    *,
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", help="Where to; by default the file's name."),
    ] = None,
    tenant: Tenant = None,
) -> None:
    """Read an exported collection; the file is checked before anything is stored.

    A page that the collection has with the same text stays as it is, one with another text is
    replaced. An interrupted import can be repeated.
    """
    from ..contracts.collection import TenantScope
    from ..tools.portable.files import import_file

    store, owner = open_collections(search_context(tenant_id=tenant))
    scope, screen = TenantScope(owner, collection or file.stem), Screen()
    with screen.bar(f"Importing {file.name}") as advance:
        done = import_file(store, scope, file, on_progress=advance)
    known = (
        f" {done.known} {'was' if done.known == 1 else 'were'} there already." if done.known else ""
    )
    screen.line(f"Imported {counted(done.documents, 'document')} into {scope.collection!r}.{known}")
