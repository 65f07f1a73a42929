"""The programs of `examples/` as modules: they import one another from their own folder."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples"


def example_module(name: str) -> Any:
    """Return the module called `name`."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # at the end: nothing of ours hides another module
    return importlib.import_module(name)
