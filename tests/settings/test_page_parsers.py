"""The operator's own parsers of pages, as the settings name them."""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING

import pytest
from support import own_parsers
from support.other_packages import install_package

from collection_search import SearchContext, Settings
from collection_search.contracts.page import PageRules
from collection_search.errors import ConfigError
from collection_search.settings.page_parsers import PARSED_KINDS, PageParsers, load_parser
from collection_search.settings.page_rules import rules_of, under_rules

if TYPE_CHECKING:
    from pathlib import Path

OURS = "support.own_parsers"


def named(name: str) -> Settings:
    return Settings(parsers=PageParsers(pdf=name))


@pytest.mark.parametrize(
    ("name", "function", "place"),
    [
        (f"{OURS}:read", own_parsers.read, "runs in a thread"),
        (f"{OURS}:read_on_loop", own_parsers.read_on_loop, "runs on the event loop"),
        (f"{OURS}:an_object", own_parsers.an_object, "runs on the event loop"),
    ],
)
def test_a_name_is_a_module_and_its_function(name: str, function: object, place: str) -> None:
    """An `async def` runs on the loop, anything else in a thread."""
    parser = load_parser(named(name), "pdf")
    assert (parser.name, parser.function, parser.place) == (name, function, place)


def test_a_name_without_a_module_is_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the group collection_search.parsers; one that cannot be imported says why."""
    package = f"others_{uuid.uuid4().hex}"
    points = {"our-ocr": f"{OURS}:read", "lost": "no_such_module:read"}
    install_package(tmp_path, monkeypatch, package, group="parsers", **points)
    assert load_parser(named("our-ocr"), "pdf").function is own_parsers.read
    with pytest.raises(ConfigError, match=r"'lost' cannot be imported: ModuleNotFoundError: No"):
        load_parser(named("lost"), "pdf")
    with pytest.raises(ConfigError, match=r"The installed packages offer lost, our-ocr\. Write"):
        load_parser(named("ocr"), "pdf")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ocr", "no entry point of the group collection_search.parsers. None is offered. Write"),
        ("no_such_module:read", "names a module that is not found. Write module:function, such"),
        (f"{OURS}.sub:read", "names a module that is not found"),
        (f"{OURS}:none", f"names no function of the module {OURS}. Write module:function"),
        (f"{OURS}:NO_PARSER", "is of type str, no function. Write module:function"),
        (f"{OURS}:Reader", "is a class, no function"),
        (f"{OURS}:take_two", "cannot be called with one argument, the page"),
        ("a b:read", "is no module and function. Write module:function"),
        (".sub:read", "is no module and function"),
        (f"{OURS}:", "is no module and function"),
        (f"{OURS}:read()", "is no module and function"),
    ],
)
def test_a_wrong_name_is_told_with_the_way_out(name: str, told: str) -> None:
    """The error names the setting and the value, and nothing else is raised."""
    with pytest.raises(ConfigError) as caught:
        load_parser(named(name), "pdf")
    assert str(caught.value).startswith(f"parsers.pdf: {name!r} ")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import no_such_engine", "ModuleNotFoundError: No module named 'no_such_engine'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_module_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, told: str
) -> None:
    """The cause is kept."""
    module = f"ours_{uuid.uuid4().hex}"
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match=f"cannot be imported: {told}") as caught:
        load_parser(named(f"{module}:read"), "pdf")
    assert caught.value.__cause__ is not None
    assert module not in sys.modules


def test_file_and_variable_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is JSON, and wins."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "collection-search.yaml").write_text("parsers:\n  pdf: our_ocr:read\n")
    assert Settings.load().parsers == PageParsers(pdf="our_ocr:read")
    monkeypatch.setenv("COLLECTION_SEARCH_PARSERS", '{"html": "our_html:read"}')
    loaded = Settings.load().parsers
    assert loaded is not None
    assert loaded.html == "our_html:read"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('{"docx": "a:b"}', "PARSERS: parsers.docx: there is no such kind of page; take one of "),
        ('{"gzip": "a:b"}', "parsers.gzip: there is no such kind of page"),
        ('{"pdf": 3}', "parsers.pdf: give a text"),
        ("our_ocr:read", 'PARSERS: give a map as JSON, such as \'{"pdf": "our_ocr:read"}\''),
    ],
)
def test_a_wrong_map_is_a_mistake_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, value: str, told: str
) -> None:
    """The kinds are listed."""
    monkeypatch.setenv("COLLECTION_SEARCH_PARSERS", value)
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert told in str(caught.value)
    if "take one of" in told:
        assert str(caught.value).endswith(", ".join(PARSED_KINDS))


def test_no_caller_and_no_stored_row_names_a_parser() -> None:
    """A row's rules leave the operator's parsers as they are, and a run's context has no field."""
    settings = named("our_ocr:read")
    assert "parsers" not in PageRules.model_fields
    rules = PageRules.model_validate({"fetch_timeout_s": 3, "parsers": {"pdf": "os:system"}})
    assert under_rules(settings, rules).parsers == settings.parsers
    assert "our_ocr" not in rules_of(settings).model_dump_json()
    assert "parsers" not in SearchContext.model_fields
