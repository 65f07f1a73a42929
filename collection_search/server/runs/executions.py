"""What a process knows of a run that it executes, until the store has what became of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...contracts.server_run import RunChange, ServerRun

RETRIES: Final = 3
"""How often a process executes a run again whose end the store could not keep."""


@dataclass(slots=True, eq=False)
class Execution:
    """The execution of a run by this process, from its start or the decision of its gate."""

    run: ServerRun
    begun: int = 0
    """How often the graph was begun."""
    change: RunChange | None = None
    """What became of the run; the store could not keep it yet."""
    refused: Counter[str] = field(default_factory=Counter)
    """How often a store refused it for another reason than an outage: `run` or `gate`."""

    @property
    def may_retry(self) -> bool:
        """Return whether the graph may be begun once more."""
        return self.begun <= RETRIES
