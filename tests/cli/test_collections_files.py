"""`collection-search collections export` and `import`, `delete --document`, `purge`, `delete-tenant`."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.run_history import SQLiteRuns
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.collection import TenantScope
from collection_search.ports.usage import SpendEntry
from collection_search.settings.access_tokens import FOLDER
from collection_search.settings.process_defaults import process_settings
from collection_search.testing.stores.server_runs import RUN
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from pathlib import Path

    from support.command_line import Invoke


PAGES = ("cancel", "timeout", "group")


def fill(tenant: str, *pages: str) -> None:
    """Store pages in the tenant's collection `py`."""
    store = SQLiteStore.from_settings(process_settings())
    for name in pages:
        text = f"How to {name} an asyncio task."
        page = document(name, text, rank=1)
        store.collections.replace_document(TenantScope(tenant, "py"), page, chunks(text))
    store.close()


@pytest.fixture
def filled() -> None:
    """A collection `py` with three documents."""
    fill("local", *PAGES)


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_collection_goes_to_a_file_and_back(command: Invoke, tmp_path: Path) -> None:
    """By the file's name if no other is given; a second import changes nothing."""
    exported = command("collections", "export", "py").out
    file = tmp_path / "copy.jsonl"
    ended = command("collections", "export", "py", "-o", str(file))
    assert (ended.code, ended.out, file.read_text()) == (0, "", exported)
    assert "Wrote 3 documents" in ended.err
    ended = command("collections", "import", str(file))
    assert ended.out == "Imported 3 documents into 'copy'.\n"
    assert command("collections", "export", "copy").out == exported
    again = command("collections", "import", str(file), "--collection", "copy")
    assert again.out == "Imported 0 documents into 'copy'. 3 were there already.\n"
    there = ("--collection", "py", "--tenant", "acme")
    assert command("collections", "import", str(file), *there).code == 0
    assert command("collections", "export", "py", "--tenant", "acme").out == exported
    assert command("ask", "cancel an asyncio task", *there).code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_parquet_goes_to_a_file(command: Invoke, tmp_path: Path) -> None:
    """A terminal cannot show it."""
    pytest.importorskip("pyarrow")
    refused = command("collections", "export", "py", "--format", "parquet")
    assert (refused.code, "--output" in refused.complaints[0]) == (2, True)
    file = str(tmp_path / "copy.parquet")
    assert command("collections", "export", "py", "--format", "parquet", "-o", file).code == 0
    assert command("collections", "import", file).out == "Imported 3 documents into 'copy'.\n"
    original = command("collections", "export", "py").out
    assert command("collections", "export", "copy").out == original


@pytest.mark.usefixtures("filled")
def test_a_wrong_file_is_2(command: Invoke, tmp_path: Path) -> None:
    """The line is named."""
    file = tmp_path / "wrong.jsonl"
    file.write_text(
        command("collections", "export", "py").out.replace('"ordinal": 0', '"ordinal": 1')
    )
    ended = command("collections", "import", str(file))
    assert ended.code == 2
    assert "wrong.jsonl, line 1: the digest does not fit" in ended.complaints[0]
    assert "wrong" not in command("collections").out


@pytest.mark.usefixtures("filled")
def test_one_page_can_be_deleted(command: Invoke) -> None:
    """As it is written, or nearly so."""
    urls = [
        json.loads(line)["url"] for line in command("collections", "export", "py").out.splitlines()
    ]
    ended = command("collections", "delete", "py", "--document", f"{urls[0]}#part", "--yes")
    assert ended.out == f"Deleted {urls[0]} from 'py'.\n"
    left = [
        json.loads(line)["url"] for line in command("collections", "export", "py").out.splitlines()
    ]
    assert left == urls[1:]
    unknown = command("collections", "delete", "py", "--document", urls[0], "--yes")
    assert unknown.code == 2
    assert f"'py' holds no {urls[0]}" in unknown.complaints[0]


@pytest.mark.usefixtures("filled")
def test_a_page_is_found_by_a_similar_address(command: Invoke) -> None:
    """By one without `https` and with another ending, if no other page has it."""
    url = json.loads(command("collections", "export", "py").out.splitlines()[0])["url"]
    typed = f"{url.replace('https://', 'http://')}/index.html"
    ended = command("collections", "delete", "py", "--document", typed, "--yes")
    assert ended.out == f"Deleted {typed} (stored as {url[8:]}) from 'py'.\n"
    assert url not in command("collections", "export", "py").out


@pytest.mark.usefixtures("filled")
def test_what_is_old_is_purged(command: Invoke) -> None:
    """Not what is young; an age has a unit."""
    assert command("collections", "purge", "--older-than", "1h", "--yes").out == (
        "Nothing was there to delete.\n"
    )
    assert "3 documents" in command("collections", "purge", "--older-than", "0d", "--yes").out
    assert command("collections").out.splitlines()[1].split()[:2] == ["py", "0"]
    refused = command("collections", "purge", "--older-than", "90", "--yes")
    assert (refused.code, "90d" in refused.complaints[0]) == (2, True)


@pytest.mark.usefixtures("filled")
def test_a_tenant_is_deleted(command: Invoke) -> None:
    """That one alone."""
    fill("acme", *PAGES[:2])
    usage = SQLiteUsage.from_settings(process_settings())
    for tenant in ("acme", "local"):
        usage.put(tenant, "search", "key", b"answer")
        usage.add([SpendEntry(tenant, "run", 1.0, "search", "brave", cost_usd=1)])
    ended = command("collections", "--tenant", "acme", "delete-tenant", "--yes")
    assert "1 collection, 2 documents" in ended.out
    assert "1 answer, 1 spending entry" in ended.out
    assert [len(usage.totals(tenant)) for tenant in ("acme", "local")] == [0, 1]
    usage.close()
    assert "acme has no collections" in command("collections", "--tenant", "acme").out
    assert "py" in command("collections").out


def test_the_runs_of_a_deleted_tenant_are_told(command: Invoke) -> None:
    """Also where it has nothing else."""
    runs = SQLiteRuns.from_settings(process_settings())
    runs.add(replace(RUN, tenant_id="acme"))
    runs.close()
    ended = command("collections", "delete-tenant", "--tenant", "acme", "--yes")
    assert ended.out == "Deleted: 1 server run.\n"


def test_a_deleted_tenant_keeps_its_tokens_and_is_told(command: Invoke) -> None:
    """With the command that removes them; another tenant's are not named."""
    for user, tenant in (("ann", "acme"), ("ann", "acme"), ("bob", "beta")):
        command("tokens", "add", user, "--tenant", tenant)
    ended = command("collections", "delete-tenant", "--tenant", "acme", "--yes")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        "The access tokens of acme stay valid. To remove them:",
        "  collection-search tokens remove ann --tenant acme",
    ]
    assert command("tokens", "remove", "ann", "--tenant", "acme").code == 0
    assert not command("collections", "delete-tenant", "--tenant", "acme", "--yes").err


def test_a_deleted_tenant_s_unknown_tokens_are_told(command: Invoke) -> None:
    """The data is deleted all the same."""
    fill("acme", "cancel")
    folder = process_settings().home / FOLDER
    folder.symlink_to(folder)
    ended = command("collections", "delete-tenant", "--tenant", "acme", "--yes")
    assert ended.code == 0
    assert "1 document" in ended.out
    (warning,) = ended.warnings
    assert "Whether acme has access tokens is not known" in warning


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    "action",
    [
        ("delete", "py", "--document", "https://a.b"),
        ("purge", "--older-than", "0h"),
        ("delete-tenant",),
    ],
)
def test_nothing_is_deleted_unasked(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, action: tuple[str, ...]
) -> None:
    """Without a terminal to ask on, only --yes deletes."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    refused = command("collections", *action)
    assert (refused.code, "--yes" in refused.complaints[0]) == (2, True)
    assert command("collections").out.splitlines()[1].split()[1] == "3"
