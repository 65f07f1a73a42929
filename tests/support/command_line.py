"""How tests of the command speak of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)

    @property
    def complaints(self) -> list[str]:
        """The lines that say why the command did not reach its aim."""
        return [line for line in self.err.splitlines() if line.startswith("collection-search: ")]

    @property
    def warnings(self) -> list[str]:
        """The lines that say what went less than well."""
        return [line for line in self.err.splitlines() if line.startswith("warning: ")]


Invoke = Callable[..., Ended]
