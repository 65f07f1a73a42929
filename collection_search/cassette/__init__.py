"""Recordings of a live run, replayed without network, key or vendor's package.

The cut is at the ports: search adapter, query model, embedder, reranker. A cassette is a file of
JSON lines: a header, a line for each part (who answered), a line for each exchange (request and
answer or error), and a line for the pages that a run ranked. Secrets and personal data are masked
before anything is written.
"""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .scrubbing import Scrubber

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import Embedder, QueryModel, Reranker

__all__ = ["Cassette"]


class Cassette(ABC):
    """A recorder or player between a run and its ports; safe for threads and event loops.

    `record` and `replay` make one; give it to `SearchContext(cassette=...)`.
    """

    replays: ClassVar[bool]

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._scrubber = Scrubber()
        self._lock = threading.Lock()
        self._nowhere = self.path / uuid.uuid4().hex
        """A folder below a file: a scale in it is known to this cassette alone."""

    @staticmethod
    def record(path: str | Path) -> Cassette:
        """Return a cassette that adds to the file, made with mode 0600 where there is none.

        Raises InputError for a file of another kind and for one that cannot be written.
        """
        from .recording import RecordingCassette

        return RecordingCassette(path)

    @staticmethod
    def replay(path: str | Path, *, waits: bool = False) -> Cassette:
        """Return a cassette that answers from the file and never calls a port.

        Equal requests get their answers in the order of the recording; the last one is repeated.
        A recorded failure is raised again, with `waits` also with its waiting time.
        Raises InputError naming the line that cannot be read.
        """
        from .replaying import ReplayingCassette

        return ReplayingCassette(path, waits=waits)

    @property
    def reason(self) -> str:
        """Why a replay uses its search provider; empty for a recording."""
        return ""

    @property
    def recorded_judge(self) -> str | None:
        """Who judged in the recorded run: `model`, `none` or a reranker; None where nobody says."""
        return None

    @property
    def missing(self) -> list[str]:
        """Requests that the recording lacks, in order."""
        return []

    def hide(self, *owners: object) -> None:
        """Mask the secrets of these objects, such as settings, in all that is written."""
        with self._lock:
            self._scrubber.hide(*owners)

    def note_pool(self, question: str, pages: Sequence[Mapping[str, Any]]) -> None:  # noqa: B027
        """Record the pages (url, title, snippet) that a run ranks; a replay does not.

        `recorded_pools.read_pools` returns them. Raises InputError for a file that cannot be
        written.
        """

    def unrecorded_scale(self, fingerprint: str) -> Path | None:  # noqa: ARG002 - for recordings
        """Return the folder for a scale whose anchors a recording lacks; None where it has them."""
        return None

    def recorded_scale(self, fingerprint: str) -> Path | None:  # noqa: ARG002 - for replays
        """Return the folder for a scale whose anchors a replay has; None where it lacks them."""
        return None

    @abstractmethod
    def search(self, adapter: Any) -> Any:
        """Return the search adapter through which the run searches.

        A replay also takes a name, or None for the last recorded provider. Raises InputError for
        one that was not recorded.
        """

    @abstractmethod
    def model(self, model: Any) -> QueryModel | None:
        """Return the query model of the run; a replay takes a name or None too."""

    @abstractmethod
    def embedder(self, embedder: Any) -> Embedder | None:
        """Return the embedder of the run; a replay takes a name or None too."""

    @abstractmethod
    def ensemble(self, first: Embedder, given: Any) -> list[Embedder]:
        """Return the embedders beside the run's first one, which has gone through `embedder`.

        A replay takes names, live objects, or None for all that were recorded beside the first.
        Raises InputError for one that was not recorded.
        """

    @abstractmethod
    def reranker(self, judge: Reranker | str) -> Reranker | str:
        """Return the reranker of the run; `model` and `none` stay what they are.

        A replay takes the name of a reranker or a live one, and never loads or asks it. Raises
        InputError for one that was not recorded.
        """
