"""How adapters are found out about: what is misspelt, and that nobody else looks."""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from unittest.mock import Mock

import pytest

import collection_search
from collection_search.contracts.health import Health
from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import InputError
from collection_search.ports.description import MEMBERS, describe, find_misspelt, is_runnable
from collection_search.ports.near_misses import find_near_misses
from collection_search.ports.search_function import KEYWORDS
from collection_search.settings import registry
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(collection_search.__file__).parent
READERS = {"ports/description.py"}
"""The one module that reads members which may be missing."""
SIGNATURE_READERS = {
    "adapters/crawl/browser/running_browser.py",
    "ports/search_function.py",
    "runtime/concurrency.py",
    "settings/adapter_factory.py",
    "settings/page_parsers.py",
}
"""What launches the browser, by playwright's parameters; the search function's own module; what gives
a blocking function its signature; what makes adapters of every kind; what checks a parser of pages."""


class Searcher:
    provider_name = "searcher"

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        return SearchAdapterResponse(results=[], status_code=200)


def test_optional_members_are_described() -> None:
    """What an adapter can do is there as what it is, and None where it cannot."""

    class Able(Searcher):
        async def asearch(self, query: str, *, limit: int, timeout: float) -> Any: ...  # noqa: ASYNC109
        def price(self, max_results: int, options: Any) -> tuple[int, float]:
            return 2, 3.0

        async def acheck(self, *, timeout: float) -> Health:  # noqa: ASYNC109
            return Health()

        def prepare(self, progress: Any = None) -> None: ...

    able, plain = describe(Able()), describe(Searcher())
    assert able.asearch is not None
    assert able.asearch.keywords == ["limit", "timeout"]
    assert [able.price, able.health_check, able.preparation] == [able.adapter] * 3
    assert [plain.asearch, plain.price, plain.health_check, plain.preparation] == [None] * 4


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("key_varaible", "key_variable"),
        ("page_sise", "page_size"),
        ("pageSize", "page_size"),
        ("asarch", "asearch"),
        ("aserach", "asearch"),
        ("storage_right", "storage_rights"),
        ("address_varible", "address_variable"),
        ("provider_nam", "provider_name"),
        ("answer_from", "answers_from"),
        ("need_key", "needs_key"),
        ("end_on", "ends_on"),
        ("sorce", "source"),
        ("from_setting", "from_settings"),
    ],
)
def test_a_misspelt_member_is_told(
    wrong: str, right: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the member and the right name, once for all objects of a class."""
    bare = type("Bare", (), {"search": Searcher.search, wrong: "x"})
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            describe(bare())
    (record,) = caplog.records
    assert f"Bare.{wrong} is nothing that a search adapter has" in record.getMessage()
    assert f"did you mean {right}?" in record.getMessage()


def test_what_an_object_holds_is_looked_at_too() -> None:
    """A member that the constructor sets may be misspelt as one of the class."""
    adapter: Any = Searcher()
    adapter.page_sise = 10
    assert find_misspelt(adapter) == {"page_sise": "page_size"}
    assert find_misspelt(Searcher) == {}


def test_a_subclass_of_ours_is_looked_at() -> None:
    """Its own names count, though the right one is inherited from us."""
    serper = registry.load_adapter("search", "serper")
    mine = type("Mine", (serper,), {"storage_right": "allowed"})
    assert find_misspelt(mine) == {"storage_right": "storage_rights"}


def test_a_misspelt_keyword_is_told() -> None:
    """An optional keyword that the worker never gives is no use."""

    class Impatient:
        provider_name = "impatient"

        def search(self, query: str, *, max_results: int, timeout_s: float = 1, optoins: Any = None): ...  # fmt: skip

    assert find_misspelt(Impatient()) == {"timeout_s": "timeout", "optoins": "options"}


class Typical:
    """Names that people's adapters have beside those of the port."""

    provider_name = "typical"
    name = "typical"
    base_url = url = endpoint = "https://typical.example"
    sources: ClassVar = ["news", "web"]
    resource = pricing = prices = titles = token = language = country = region = "x"
    max_results = limit = limits = timeout = timeouts = retries = top_k = 1
    check = research = searcher = search_raw = search_async = page = pages = page_count = 1
    page_sizes = (10, 20)
    keys = api_keys = providers = information = infos = options = turns = client = session = 1

    def search(self, query: str, max_results: int = 10, **kwargs: Any) -> Any: ...
    def close(self) -> None: ...


class Older:
    limits = 1

    def provider(self) -> str:
        return "older"

    def search(self, query: str, limit: int) -> Any: ...


@pytest.mark.parametrize(
    "adapter",
    [Typical(), Older(), Searcher(), ScriptedAdapter(), Mock(spec=Searcher), Mock()],
    ids=["typical", "older", "bare", "scripted", "mock with a form", "mock"],
)
def test_usual_adapters_are_not_told_of(adapter: object, caplog: pytest.LogCaptureFixture) -> None:
    """A name of one's own is no mistake."""
    describe(adapter)
    assert find_misspelt(adapter) == {}
    assert not caplog.records


@pytest.mark.parametrize("name", registry.BUILTIN["search"])
def test_names_of_our_own_adapters_are_not_near_ones(name: str) -> None:
    """A subclass that overrides what ours have is not told of that."""
    cls = registry.load_adapter("search", name)
    overriding = {member: getattr(cls, member) for member in dir(cls) if member[0] != "_"}
    assert find_misspelt(type("Overriding", (), overriding)) == {}
    assert find_near_misses(overriding, MEMBERS) == {}


def test_langchains_objects_are_told_apart() -> None:
    """What has `ainvoke` is wrapped, unless it is a search adapter itself."""
    assert is_runnable(type("Tool", (), {"ainvoke": print})())
    assert not is_runnable(type("Both", (), {"ainvoke": print, "search": print})())
    assert not is_runnable(Searcher())


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def sniffed(tree: ast.Module) -> Iterator[str]:
    """Yield what reads a member by its name, or the parameters of a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in {"inspect.signature", "signature", "inspect.getfullargspec"}:
                yield "signature"
            given = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
            if called in {"getattr", "hasattr", "inspect.getattr_static"}:
                yield from (str(name) for name in given if name in {*MEMBERS, *KEYWORDS})


@pytest.mark.slow
def test_nobody_else_looks_at_an_adapter() -> None:
    """Outside `describe` no member of an adapter is read by its name, and no signature."""
    found = {name: set(sniffed(tree)) for name, tree in modules()}
    builder = found["settings/registry.py"]
    assert builder == {"from_settings"}  # of adapters of every kind
    builder.clear()
    assert {name for name, what in found.items() if what - {"signature"}} == READERS
    assert {name for name, what in found.items() if "signature" in what} == SIGNATURE_READERS


@pytest.mark.parametrize(
    "code",
    [
        'getattr(adapter, "page_size", None)',
        'hasattr(vendor, "acheck")',
        "inspect.signature(adapter.search)",
    ],
)
def test_the_rule_finds_what_it_forbids(code: str) -> None:
    """Each way of looking at an adapter is seen."""
    assert list(sniffed(ast.parse(code)))


def test_a_class_is_no_adapter() -> None:
    """Its `search` is there, but takes no instance."""
    with pytest.raises(InputError, match="ScriptedAdapter is a class: give an instance"):
        _ = describe(ScriptedAdapter).search
