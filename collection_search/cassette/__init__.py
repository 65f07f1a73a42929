"""A live run on a cassette, from which it plays again without network, key or vendor's package.

The cut is at the ports: search adapter, query model, embedder. A cassette is a file of JSON lines:
a header, a line for each part (who answered), and a line for each exchange (request and answer or
error). Secrets and personal data are masked before anything is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..ports import Embedder, QueryModel

__all__ = ["Cassette"]


class Cassette(ABC):
    """Stands between a run and its ports; safe to share between threads and event loops.

    `record` and `replay` make one; give it to `SearchContext(cassette=...)`.
    """

    replays: ClassVar[bool]

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @staticmethod
    def record(path: str | Path) -> Cassette:
        """Return a cassette that adds to the file, made with mode 0600 where there is none.

        Raises InputError for a file of another kind and for one that cannot be written.
        """
        from .recording import RecordingCassette

        return RecordingCassette(path)

    @staticmethod
    def replay(path: str | Path, *, waits: bool = False) -> Cassette:
        """Return a cassette that plays what the file holds and never reaches a port.

        Requests that were the same have their answers in the order of the recording, the last one
        for ever. A recorded failure is raised again; with `waits` so that it is waited for, too.
        Raises InputError naming the line that cannot be read.
        """
        from .replaying import ReplayingCassette

        return ReplayingCassette(path, waits=waits)

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why the search provider of a replay is the one that it is."""

    @property
    def missing(self) -> list[str]:
        """What was asked for and is not in the recording, in order."""
        return []

    @abstractmethod
    def hide(self, *owners: object) -> None:
        """Keep the secrets of these objects, such as settings, out of the file."""

    @abstractmethod
    def search(self, adapter: Any) -> Any:
        """Return the search adapter through which the run searches.

        A replay takes a name too, or None for the provider that was recorded last. Raises
        InputError for one that was not recorded.
        """

    @abstractmethod
    def model(self, model: Any) -> QueryModel | None:
        """Return the query model of the run; a replay takes a name or None too."""

    @abstractmethod
    def embedder(self, embedder: Any) -> Embedder | None:
        """Return the embedder of the run; a replay takes a name or None too."""
