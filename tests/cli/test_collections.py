"""`collection-search collections`: list, export, delete, embed anew."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite import removal as stored_removal
from collection_search.contracts.collection import TenantScope
from collection_search.settings.process_defaults import process_settings
from collection_search.testing import OpenAIServer
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from support.command_line import Invoke


@pytest.fixture
def filled(run: Invoke) -> None:
    """A collection `py` with three documents."""
    assert run("--auto-ingest", "--top-k", "3").code == 0


def test_an_empty_list_says_how_to_fill_it(command: Invoke) -> None:
    """Before the first run there are no collections, which is no error."""
    ended = command("collections")
    assert ended.code == 0
    assert ended.out == "There are no collections. Fill one with 'collection-search run'.\n"


@pytest.mark.usefixtures("filled")
def test_collections_are_listed_in_figures(command: Invoke) -> None:
    """Documents, chunks, waiting and failed pages, aligned under their names; per tenant."""
    header, row = command("collections").out.splitlines()
    assert header.split() == ["collection", "documents", "chunks", "waiting", "failed", "embedder"]
    assert row.split() == ["py", "3", "3", "0", "0", "none", "(lexical)"]
    none = command("collections", "--tenant", "acme").out
    assert none.split(". ") == [
        "acme has no collections",
        "Fill one with 'collection-search run --tenant acme'.\n",
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_the_list_as_json(command: Invoke) -> None:
    """One object with the tenant; `list` is the same by its name."""
    ended = command("collections", "--json")
    assert (ended.code, ended.err) == (0, "")
    figures = {"documents": 3, "chunks": 3, "embedder": None, "waiting": 0, "failed": 0}
    assert ended.json == {
        "tenant": "local",
        "collections": [{"collection": "py", **figures}],
    }
    assert command("collections", "list", "--json").out == ended.out
    assert command("collections", "list").out == command("collections").out
    other = command("collections", "--tenant", "acme", "list", "--json")
    assert other.json == {"tenant": "acme", "collections": []}
    refused = command("collections", "--json", "delete", "py", "--yes")
    assert (refused.code, "'delete'" in refused.complaints[0]) == (2, True)
    assert command("collections", "--json").out == ended.out


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_an_empty_collection_stays_and_is_told(command: Invoke) -> None:
    """After `purge` its name is there to be filled again, until it is deleted."""
    ended = command("collections", "purge", "--older-than", "0h", "--yes")
    assert ended.code == 0
    assert ended.out.startswith("Deleted: 3 documents")
    assert ended.err.startswith("Empty: py. A collection stays until")
    listed = command("collections")
    assert listed.out.splitlines()[1].split()[:4] == ["py", "0", "0", "0"]
    assert listed.err == ended.err
    assert command("collections", "delete", "py", "--yes").code == 0
    assert "no collections" in command("collections").out


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_the_export_is_the_same_after_another_run(run: Invoke, command: Invoke) -> None:
    """Canonical: one JSON object a line, equal for equal content whenever it was stored."""
    first = command("collections", "export", "py")
    assert len([json.loads(line) for line in first.out.splitlines()]) == 3
    assert command("collections", "delete", "py", "--yes").code == 0
    assert run("--auto-ingest", "--top-k", "3").code == 0
    assert command("collections", "export", "py").out == first.out


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_deleting_needs_a_yes(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal to ask on, only --yes deletes."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    refused = command("collections", "delete", "py")
    assert refused.code == 2
    assert "--yes" in refused.complaints[0]
    assert command("collections", "delete", "py", "--yes").out == "Deleted 'py' with 3 documents.\n"
    assert "no collections" in command("collections").out


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_space_goes_back_to_the_system(command: Invoke) -> None:
    """The sizes before and after, for the collections of all tenants."""
    assert command("collections", "delete", "py", "--yes").code == 0
    ended = command("collections", "compact")
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"The database had \d\.\d MB and has \d\.\d MB now\.\n", ended.out)
    assert command("collections", "--tenant", "acme", "compact").code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("what", [("delete", "py"), ("delete-tenant",)])
def test_an_interrupted_deletion_says_what_is_left(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, what: tuple[str, ...]
) -> None:
    """The collection is gone; a command that finishes the erasure is named."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stored_removal, "delete_group", interrupt)
        ended = command("collections", *what, "--yes")
    assert ended.code == 130
    assert "is gone for everybody, but not all of it is erased" in ended.complaints[0]
    assert "'collection-search collections compact'" in ended.complaints[0]
    assert "no collections" in command("collections").out
    assert command("collections", "compact").code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_collection_is_embedded_anew(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """By words, by one model, by another, and by words again; the list and a question show it."""
    question = ("ask", "cancel an asyncio task", "--collection", "py")
    for name, fingerprint in (("words", "scripted:64"), ("other_words", "scripted:32")):
        ended = command("collections", "reembed", "py", "--embeddings", name, "--yes")
        assert ended.code == 0, ended.err
        assert ended.out == f"Embedded 3 chunks of 'py' with {fingerprint} at an unknown price.\n"
        assert f"set COLLECTION_SEARCH_EMBEDDINGS to {name}" in ended.err
        assert command("collections").out.splitlines()[1].split()[-1] == fingerprint
    refused = command(*question)
    assert refused.code == 2
    assert "collection-search collections reembed 'py'" in refused.complaints[0]
    monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS", "other_words")
    process_settings.cache_clear()
    assert command(*question).code == 0
    assert (
        "COLLECTION_SEARCH_EMBEDDINGS" not in command("collections", "reembed", "py", "--yes").err
    )
    refused = command("collections", "reembed", "py", "--embeddings", "lexical")
    assert (refused.code, "drops the vectors" in refused.complaints[0]) == (2, True)
    ended = command("collections", "reembed", "py", "--embeddings", "lexical", "--yes")
    assert ended.out == "'py' has no vectors any more: it is searched by its words.\n"
    assert "none (lexical)" in command("collections").out
    assert command(*question).code == 0


def test_what_was_embedded_without_titles_is_told(command: Invoke) -> None:
    """With the command that adds them; after it the list says nothing more."""
    store, scope = SQLiteStore.from_settings(process_settings()), TenantScope("local", "tea")
    store.collections.bind_embedder(scope, "scripted:64")
    store.collections.replace_document(
        scope, document("tea"), chunks("Pour it.", vectors=np.eye(1, 64, dtype=np.float32))
    )
    store.close()
    listed = command("collections")
    assert listed.out.splitlines()[1].split()[-1] == "scripted:64"
    assert listed.err == (
        "'tea' was embedded without the titles of its pages:"
        " 'collection-search collections reembed tea' adds them.\n"
    )
    assert command("collections", "reembed", "tea", "--embeddings", "words", "--yes").code == 0
    listed = command("collections")
    assert listed.out.splitlines()[1].split()[-1] == "scripted:64"
    assert listed.err == ""
    assert command("collections", "--json").json["collections"][0]["embedder"].endswith("+titles")


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_failed_embedder_leaves_the_collection_as_it_was(command: Invoke) -> None:
    """Told in one sentence that says how to go on."""
    before = command("collections", "export", "py").out
    ended = command("collections", "reembed", "py", "--embeddings", "broken_embedder", "--yes")
    assert ended.code == 4
    [complaint] = ended.complaints
    assert (
        "no answer. The collection keeps its vectors; do this again to go on: 0 of its 3"
        in complaint
    )
    assert command("collections", "export", "py").out == before
    assert "acme" in command("collections", "reembed", "py", "--tenant", "acme").complaints[0]


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_embedding_anew_is_not_paid_unasked(
    command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The price is told first, from what is left to embed."""
    asked = ("collections", "reembed", "py", "--embeddings", "openai:text-embedding-3-small")
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        refused = command(*asked)
        assert server.requests == []
        assert refused.code == 2
        assert "has to embed 3 chunks for about $0.00" in refused.complaints[0]
        assert refused.complaints[0].endswith(": add --yes to do it.")
        ended = command(*asked, "--yes")
        assert ended.code == 0, ended.err
        assert "has to embed 3 chunks for about $0.00" in ended.err
        assert "setting" not in ended.err
        question = ("ask", "cancel an asyncio task", "--collection", "py")
        assert command(*question).code == 0  # the collection remembers its embedder
        monkeypatch.setenv("COLLECTION_SEARCH_EMBEDDINGS", "openai:text-embedding-3-large")
        assert command(*question).code == 0
        ended = command(*asked, "--yes")
        assert "set COLLECTION_SEARCH_EMBEDDINGS" not in ended.err
        assert "--embeddings openai:text-embedding-3-small: the setting says" in ended.err
        ended = command("collections", "reembed", "py", "--embeddings", "lexical", "--yes")
        assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
def test_nothing_is_asked_where_nothing_is_to_embed(run: Invoke, command: Invoke) -> None:
    """A collection whose pages still wait has no chunks to pay for."""
    run("--auto-ingest", "--no-wait", "--top-k", "2")
    ended = command("collections", "reembed", "py", "--embeddings", "words")
    assert ended.code == 0, ended.err
    assert "has to embed" not in ended.err


@pytest.mark.slow
def test_the_tenant_before_a_sub_command_counts(run: Invoke, command: Invoke) -> None:
    """Of two tenants' collections of one name the other one stays; the nearer option wins."""
    for tenant in ("local", "acme"):
        assert run("--auto-ingest", "--top-k", "3", "--tenant", tenant).code == 0
    group = ("collections", "--tenant", "acme")
    assert len(command(*group, "export", "py").out.splitlines()) == 3
    assert command(*group, "delete", "py", "--yes").code == 0
    assert "py" not in command(*group).out.split()
    assert "'acme' has no" in command(*group, "export", "py").complaints[0]
    assert "'acme' has no" in command(*group, "reembed", "py").complaints[0]
    assert len(command(*group, "export", "py", "--tenant", "local").out.splitlines()) == 3
    assert len(command("collections", "export", "py").out.splitlines()) == 3


@pytest.mark.parametrize("action", [("export",), ("delete", "--yes"), ("reembed",)])
def test_an_unknown_collection_is_refused(command: Invoke, action: tuple[str, ...]) -> None:
    """The sentence names the collection, and says how to make one."""
    ended = command("collections", *action, "nix")
    assert ended.code == 2
    [complaint] = ended.complaints
    says = "collection-search: There is no collection 'nix', and no other yet. Make one: "
    assert complaint.startswith(says)
