"""The public surface of the package."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.public_surface import RECORD, public_surface

import collection_search
from collection_search import testing

HEAVY = ("langgraph", "langchain_openai", "openai", "langfuse", "trafilatura", "numpy")


@pytest.mark.parametrize("package", [collection_search, testing])
def test_all_names_are_sorted_and_importable(package: object) -> None:
    """`__all__` is in order and every name in it can be had."""
    names = package.__all__
    assert names == sorted(names)
    for name in names:
        assert getattr(package, name) is not None


def test_public_names_and_parameters_are_those_of_the_record() -> None:
    """What users rely on changes by the rule of deprecation in docs/reference/stability.md only.

    `PYTHONPATH=tests:. python -m support.public_surface` records a change that follows it.
    """
    assert public_surface() == RECORD.read_text("utf-8").splitlines()


def test_the_doubles_need_no_pytest() -> None:
    """The suites that do are left out of all names, and say what to install."""
    code = """
import sys
sys.modules["pytest"] = None
from collection_search.testing import *
print(rows(1)[0].title, "LedgerContract" in globals())
from collection_search.testing import LedgerContract
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.stdout.strip() == "asyncio 1 False"
    assert "LedgerContract is a suite of tests for pytest. Install it: pip" in result.stderr


def test_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name fails as for any module."""
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = collection_search.no_such_name


def test_import_loads_nothing_heavy() -> None:
    """A fresh interpreter that imports the package has loaded none of the large libraries."""
    code = f"import sys, collection_search; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_a_module_under_its_former_path_works_and_warns() -> None:
    """Paths that the documentation showed are still there, and say where to go."""
    from collection_search import collector

    with pytest.warns(DeprecationWarning, match=r"now collection_search\.runtime\.gc"):
        assert collector.relieve_collector is collection_search.relieve_collector


def test_the_version_is_that_of_the_project() -> None:
    """It stands once in the code, and once in what installs it."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["version"] == collection_search.__version__
