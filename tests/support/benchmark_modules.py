"""The programs of `benchmarks/` as modules: they import one another from their own folder."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).parents[2] / "benchmarks")


def benchmark(name: str) -> Any:
    """Return the module called `name`."""
    if FOLDER not in sys.path:
        sys.path.append(FOLDER)  # at the end: nothing of ours hides another module
    return importlib.import_module(name)
