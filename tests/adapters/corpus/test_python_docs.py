"""The pages of docs.python.org: the table is complete, and every text stands on its real page."""

from __future__ import annotations

import math
import pydoc_data.topics
import re
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from collection_search.adapters.corpus.docs_page_map import listed_pages
from collection_search.adapters.corpus.docstrings import documentation
from collection_search.adapters.corpus.introspection import extension_documentation
from collection_search.adapters.corpus.python_docs import SITE, python_readers

if TYPE_CHECKING:
    from collection_search.adapters.corpus.entry import CorpusPage

pytestmark = pytest.mark.slow

UNDOCUMENTED = frozenset(
    [
        "antigravity",
        "builtins",
        "ntpath",
        "nturl2path",
        "pydoc_data",
        "sre_compile",
        "sre_constants",
        "sre_parse",
        "this",
        "turtledemo",
    ]
)
"""Modules without a page of their own: internal, jokes, or documented on another module's page."""


class Reading(NamedTuple):
    """What came of reading every page once."""

    pages: list[CorpusPage]
    imported: set[str]


@pytest.fixture(scope="module")
def reading() -> Reading:
    """Every page that this Python has a text for, and the modules that reading them imported."""
    loaded = set(sys.modules)
    pages = [page for page in (read() for read in python_readers()) if page]
    return Reading(pages, set(sys.modules) - loaded)


@pytest.fixture
def pages(reading: Reading) -> dict[str, CorpusPage]:
    """The pages by their path on the site."""
    return {page.url.removeprefix(f"{SITE}/").removesuffix(".html"): page for page in reading.pages}


def test_addresses_are_those_of_the_running_version() -> None:
    """Python 3.11 is answered with the pages of 3.11."""
    assert f"https://docs.python.org/{sys.version_info[0]}.{sys.version_info[1]}" == SITE


def test_each_page_is_one_entry(reading: Reading, pages: dict[str, CorpusPage]) -> None:
    """No two readers give the same address."""
    assert len(reading.pages) == len(pages)


def test_reading_imports_no_module_that_has_a_source(reading: Reading) -> None:
    """Sources are read, not run; two modules of plain data are the exception."""
    library = Path(sysconfig.get_path("stdlib"))
    for name in reading.imported - {"pydoc_data", "pydoc_data.topics"}:
        stem = library.joinpath(*name.split("."))
        is_data = name.startswith("_sysconfigdata")
        assert is_data or not stem.with_name(f"{stem.name}.py").exists(), name
        assert not stem.joinpath("__init__.py").exists(), name


def test_every_public_module_of_this_python_is_in_the_table() -> None:
    """A module with a page of the library reference is found under it."""
    modules = [module for page in listed_pages() for module in page.modules]
    tabled = {*modules, *(module.partition(".")[0] for module in modules)}
    public = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    assert public - tabled - UNDOCUMENTED == set()


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("library/asyncio-task", "Request that this task cancel itself."),
        ("library/asyncio-task", "Timeout async context manager."),
        ("library/asyncio-runner", "Execute the coroutine and return the result."),
        ("library/asyncio-sync", "Primitive lock objects."),
        ("library/os.path", "Join two or more pathname components"),
        ("library/collections.abc", "Send a value into the coroutine."),
        ("library/concurrent.futures", "ThreadPoolExecutor"),
        ("library/email.mime", "MIMEMultipart"),
        ("library/json", "JSONDecoder"),
        ("library/logging.handlers", "RotatingFileHandler"),
        ("library/unittest.mock", "MagicMock"),
        ("library/xml.etree.elementtree", "ElementTree"),
        ("library/math", "Return the cosine of x"),
        ("library/itertools", "groupby"),
        ("library/csv", "reader"),
        ("library/functions", "Return the absolute value"),
        ("library/exceptions", "Inappropriate argument value"),
        ("library/stdtypes", "str.removeprefix(prefix, /)"),
        ("library/pdb", "The debugger"),
        ("library/string", "Format String Syntax"),
        ("reference/compound_stmts", 'The "with" statement'),
        ("reference/datamodel", "object.__iter__"),
        ("reference/expressions", "Operator precedence"),
        ("reference/simple_stmts", 'The "assert" statement'),
        ("reference/executionmodel", "Naming and binding"),
        ("reference/lexical_analysis", "String and Bytes literals"),
    ],
)
def test_a_text_stands_on_its_real_page(
    pages: dict[str, CorpusPage], page: str, sentence: str
) -> None:
    """What a module says is found under the address where a reader finds it online."""
    assert sentence in pages[page].text


def test_titles_say_what_a_page_is_about(pages: dict[str, CorpusPage]) -> None:
    """Titles are those of the site, with the package's name where the site leaves it out."""
    assert pages["library/csv"].title == "csv — CSV File Reading and Writing"
    assert pages["library/asyncio-task"].title == "asyncio — Coroutines and Tasks"


def test_no_page_is_empty(pages: dict[str, CorpusPage]) -> None:
    """A module that says nothing but its name has no entry."""
    assert min(len(page.text) for page in pages.values()) >= 40
    assert len(pages) > 200


def test_nearly_every_topic_of_the_language_reference_is_on_a_page(
    pages: dict[str, CorpusPage],
) -> None:
    """What `help()` knows of the language can be found, whether listed or part of a section."""
    tabled = {topic for page in listed_pages() for topic in page.topics}
    everything = re.sub(r"\W+", " ", " ".join(page.text for page in pages.values()))
    for name, text in pydoc_data.topics.topics.items():
        opening = re.sub(r"\W+", " ", " ".join(text.splitlines()[2:]))[:60]
        assert name in tabled or opening in everything, name


class TestDocstrings:
    """The documentation of a module that is read from its source."""

    def test_signatures_lose_annotations_and_the_bound_parameter(self) -> None:
        """A method shows what a caller passes."""
        source = b"""
class Queue:
    "First in, first out."
    def __init__(self, size: int = 0, /, *, name: str | None = None): ...
    def put(self, item: object, timeout: float = 1.5) -> None:
        "Add an item."
    @classmethod
    def of(cls, *items, **options): ...
    @staticmethod
    def limit(size): ...
    @property
    def empty(self):
        "True without items."
"""
        assert documentation(source).splitlines() == [
            "## class Queue(size=0, /, *, name=None)",
            "    First in, first out.",
            "",
            "### Queue.put(item, timeout=1.5)",
            "    Add an item.",
            "",
            "### Queue.of(*items, **options)",
            "",
            "### Queue.limit(size)",
            "",
            "### Queue.empty",
            "    True without items.",
        ]

    def test_private_names_overloads_and_setters_are_left_out(self) -> None:
        """One entry per name that a caller uses."""
        source = b"""
import typing
@typing.overload
def get(key: int): ...
@typing.overload
def get(key: str): ...
def get(key): "Return the value."
def _helper(): "Secret."
class _Base:
    def visible(self): "Not reached."
class Box:
    @property
    def size(self): "Its size."
    @size.setter
    def size(self, value): "Set it."
"""
        text = documentation(source)
        assert text.count("get(") == 1
        assert text.count("Box.size") == 1
        assert "Secret" not in text
        assert "Not reached" not in text

    def test_definitions_below_conditions_are_found(self) -> None:
        """A function that exists on some systems only is documented on all."""
        source = b"""
try:
    import fast
except ImportError:
    def slow(): "Without help."
else:
    def quick(): "With help."
if fast:
    class A: "One."
"""
        assert re.findall(r"^\S.*$", documentation(source), re.MULTILINE) == [
            "## slow()",
            "## quick()",
            "## class A",
        ]

    @pytest.mark.parametrize("source", [b"def broken(:", b"\0", b"x = (" * 500, b"\xff\xfe"])
    def test_a_source_that_cannot_be_parsed_says_nothing(self, source: bytes) -> None:
        """A template or a file of another Python version costs nothing but its own text."""
        assert documentation(source) == ""

    def test_other_peoples_warnings_are_not_ours(self) -> None:
        """A wrong escape in a source raises no warning for the one who indexes it."""
        assert documentation(b'"Title."\nPATTERN = "\\d"') == "Title."


class TestExtensions:
    """The documentation of modules written in C."""

    def test_a_module_of_the_interpreter_is_described(self) -> None:
        """Signature and docstring of a C function look like those read from a source."""
        assert f"floor(x, /)\n    {math.floor.__doc__.splitlines()[0]}" in extension_documentation(
            "math"
        )

    def test_methods_of_c_classes_are_described(self) -> None:
        """The bound parameter is left out, and a class without a docstring keeps its methods."""
        text = extension_documentation("_contextvars")
        assert "ContextVar.set(value, /)" in text

    @pytest.mark.parametrize("name", ["numpy", "_pytest", "readline", "no_such_module", "json.x"])
    def test_nothing_else_is_ever_imported(self, name: str) -> None:
        """Packages, unknown names and modules that change the terminal are left alone."""
        loaded = set(sys.modules)
        assert extension_documentation(name) == ""
        assert name not in set(sys.modules) - loaded

    def test_a_package_cannot_pose_as_the_interpreters_module(self, tmp_path: Path) -> None:
        """A file of the same name earlier on the path is not imported."""
        (tmp_path / "_lsprof.py").write_text("raise RuntimeError('imported')")
        sys.path.insert(0, str(tmp_path))
        try:
            sys.modules.pop("_lsprof", None)
            assert extension_documentation("_lsprof") == ""
        finally:
            sys.path.remove(str(tmp_path))
