"""The figures of a source tree are those of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.benchmark_modules import benchmark

if TYPE_CHECKING:
    from pathlib import Path

LAYERS = """
[[tool.importlinter.contracts]]
type = "layers"
containers = ["collection_search"]
layers = ["cli", "graphs | tools"]
"""
MODULES = {
    "__init__.py": "",
    "graphs/run.py": "import json\n\nT = TypeVar('T')\n\ndef run() -> None: ...\nLIMIT = 1\n",
    "tools/run.py": "from x import other\nT = TypeVar('T')\n_hidden = run = 2\nclass Job: ...\n",
    "tools/jobs.py": "if True:\n    class Job: ...\nelse:\n    Job: type = object\nlater: int\n",
    "tools/words.json": "[\n]\n",
    "tools/__pycache__/run.pyc": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package of a few modules."""
    (tmp_path / "pyproject.toml").write_text(LAYERS)
    for name, text in MODULES.items():
        path = tmp_path / "collection_search" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_form_of_a_tree(tree: Path) -> None:
    """Imports and type variables define no name, a condition's branches define it once."""
    found = benchmark("structure").structure(tree)
    assert found.rooms == ["__init__.py", "graphs/", "tools/"]
    assert found.layers == ["cli", "graphs | tools"]
    assert found.lines["collection_search"] == (15, 2)
    assert found.lines["tests"] == (0, 0)
    assert found.module_names == {"run": ["graphs/run.py", "tools/run.py"]}
    assert found.public_names == {
        "Job": ["tools/jobs.py", "tools/run.py"],
        "run": ["graphs/run.py", "tools/run.py"],
    }


def test_a_module_above_the_limit_is_found(tree: Path) -> None:
    """The limit itself is allowed."""
    for name, count in (("at.py", 300), ("above.py", 301)):
        (tree / "collection_search" / "tools" / name).write_text("x\n" * count)
    assert benchmark("structure").structure(tree).large == {"tools/above.py": 301}


def test_a_goal_that_was_missed_is_named() -> None:
    """No more lines than before is a goal where there is a tree to compare with."""
    house = benchmark("house")
    assert house.missed({"rooms": 22, "lines": 5}, {"rooms": 22, "lines": 4}) == [
        "lines: 5, at most 4"
    ]
