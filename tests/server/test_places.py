"""Places of the server's data in texts for those who do not run it."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search import Settings
from collection_search.adapters.stores.postgres.store_errors import translate_failure
from collection_search.server.places import Places

STARTING = psycopg.OperationalError("the database system is starting up")
HIDDEN = "The database of this server cannot be used: the database system is starting up. "
ADDRESSES = [
    ("postgresql:///collections", "localhost:5432"),
    ("postgresql://?host=db.internal&dbname=x", "db.internal"),
    ("postgresql://u:p@db.internal:6432/x?application_name=a@b", "db.internal"),
    ("postgresql://u:p%40x@DB1.internal:5432,db2.internal:5433/x", "db2.internal"),
    ("postgresql://u:p@db%2einternal/x", "db.internal"),
    ("postgresql://u:p@/x?host=/var/run/pg", "/var/run/pg"),
    ("postgresql://u:p@db.internal", "db.internal"),
    ("postgresql://u:p@/x?host=db&hostaddr=10.1.2.3", "10.1.2.3"),
]


@pytest.mark.parametrize(("url", "place"), ADDRESSES)
def test_an_error_of_the_database_names_no_server(tmp_path: Path, url: str, place: str) -> None:
    """Whatever form its address has; the advice stays."""
    settings = Settings(home=tmp_path, database_url=url)
    said = Places(settings).hide(str(translate_failure(url, STARTING)))
    assert said.startswith(HIDDEN)
    assert said.endswith("Check COLLECTION_SEARCH_DATABASE_URL, and that the server runs.")
    assert place not in said


def test_a_host_alone_is_hidden(tmp_path: Path) -> None:
    """A plain word, such as `db`, only where errors name a host: a collection may have its name."""
    url = "postgresql://u:p@db.internal,db/x"
    places = Places(Settings(home=tmp_path, database_url=url))
    said = places.hide("failed to resolve host 'db.internal'; see mydb.internal, the db.")
    assert said == "failed to resolve host '(database server)'; see mydb.internal, the db."
    said = places.hide('connection to server at "db" (10.0.0.3), port 5432 failed; "dba" is not.')
    assert said == 'connection to server at "(database server)", port 5432 failed; "dba" is not.'
    said = places.hide("- host: 'db', port: '5432'; There is no collection 'db', use \"db\".")
    shown = "- host: '(database server)', port: '5432'; There is no collection 'db', use \"db\"."
    assert said == shown


@pytest.mark.parametrize("home", ["data", ".", "./data", "/srv/data", "/data"])
def test_the_data_folder_is_hidden_at_its_boundaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    """A relative one too: settings make it absolute, so that errors name it so."""
    monkeypatch.chdir(tmp_path)
    settings = Settings(home=home)
    assert settings.home.is_absolute()
    folder = str(settings.home)
    places = Places(settings)
    text = f"The database {folder}/collections.db has no data in {folder}. It is a database."
    assert places.hide(text) == (
        "The database (data folder)/collections.db has no data in (data folder). It is a database."
    )
    for other in (f"{folder}base", f"{folder}.old/x", f"/mnt{folder}/x", f"{folder}-2"):
        assert places.hide(other) == other


def test_the_root_is_no_place() -> None:
    """It would replace each slash."""
    assert Places(Settings(home="/")).hide("a/b /c") == "a/b /c"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("local:/srv/private/emb", "local:/srv/private/emb", "local:emb"),
        ("local:/srv/private/emb/", "in /srv/private/emb/model.onnx", "in emb/model.onnx"),
        ("local:~/emb", f"in {Path.home()}/emb.", "in emb."),
        ("http://u:pw@x:foo", "Unknown: http://u:pw@x:foo", "Unknown: (address)"),
        ("local:BAAI/bge-small-en-v1.5", "local:BAAI/bge-small-en-v1.5", None),
        ("openai:small", "openai:small", None),
    ],
)
def test_the_path_of_a_model_is_hidden(
    tmp_path: Path, name: str, text: str, shown: str | None
) -> None:
    """The last part of a folder and other names stay."""
    settings = Settings(home=tmp_path, embeddings=name)
    assert Places(settings).hide(text) == (shown or text)
    assert Places(settings).hide_in_settings({"name": [text]}) == {"name": [shown or text]}


def test_settings_show_nobody_a_secret(tmp_path: Path) -> None:
    """A key or a login in the place of a name; the operator is no exception."""
    told = {"model": "http://u:hunter2@x:foo", "provider": "tvly-dev-abcdefgh12345678", "n": 1}
    shown = {"model": "http://[secret]@x:foo", "provider": "[secret]", "n": 1}
    assert Places().hide_in_settings(told) == shown
    assert Places(Settings(home=tmp_path)).hide_in_settings(told) == shown


@given(st.text(), st.sampled_from([url for url, _ in ADDRESSES]))
def test_other_texts_stay(text: str, url: str) -> None:
    """Only what names a place is replaced."""
    places = Places(Settings(home=Path(os.sep, "srv", "our", "data"), database_url=url))
    named = ("/srv/our/data", "internal", "localhost", "/var/run/pg", "10.1.2.3")
    if not any(place in text for place in named):
        assert places.hide(text) == text


def test_texts_of_pages_stay(tmp_path: Path) -> None:
    """They are what the web says."""
    places = Places(Settings(home=tmp_path))
    output = {"results": [{"snippet": f"in {tmp_path}"}], "error": {"message": f"in {tmp_path}"}}
    shown = {"results": output["results"], "error": {"message": "in (data folder)"}}
    assert places.hide_in(output) == shown


def test_what_was_asked_stays(tmp_path: Path) -> None:
    """The queries of a run are remembered with the collection, and asked again."""
    asked = {"question": f"Why {tmp_path}?", "strategy": {"queries": [f"why {tmp_path}"]}}
    assert Places(Settings(home=tmp_path)).hide_in(asked) == asked


def test_without_settings_nothing_is_hidden(tmp_path: Path) -> None:
    assert Places().hide(f"in {tmp_path}") == f"in {tmp_path}"
