"""The pages that recorded runs ranked, and the vectors of their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError

from ..contracts.collection import Embedded
from ..errors import InputError, ModelError
from . import tape
from .codec import read_embedded_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..contracts.collection import Vectors

POOL_FIELDS: Final = ("url", "title", "snippet")


class RecordedPage(BaseModel):
    """One page that a run ranked."""

    model_config = ConfigDict(hide_input_in_errors=True)

    url: StrictStr
    title: StrictStr
    snippet: StrictStr


class RecordedPool(BaseModel):
    """A question with the pages that its run ranked, in the order of the search."""

    model_config = ConfigDict(hide_input_in_errors=True)

    question: StrictStr
    pages: list[RecordedPage]


def read_pools(path: Path) -> list[RecordedPool]:
    """Return the pools of a cassette, in the order of the runs; the last one of each question.

    Raises InputError naming the line that cannot be read, and for a recording without a pool.
    """
    pools: dict[str, RecordedPool] = {}
    for line in tape.read_tape(path)[1:]:
        if "pool" in line.value:
            pool = _pool(path, line)
            pools[pool.question] = pool
    if not pools:
        raise InputError(
            f"{path} holds no ranked pages: no run was recorded that found any. Record one by"
            " 'collection-search run --record'."
        )
    return list(pools.values())


def _pool(path: Path, line: tape.Line) -> RecordedPool:
    try:
        return RecordedPool.model_validate(line.value["pool"])
    except ValidationError as error:
        where = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, where["loc"])) or "it"
        problem = f"{field} of the pool has the wrong form"
        raise tape.damaged_error(path, line.number, problem) from error


@dataclass
class RecordedVectors:
    """An embedder that returns the vectors that a cassette holds, in any grouping of the texts."""

    fingerprint: str
    vectors: Mapping[str, Vectors]
    """Vector of each text."""

    def has_all(self, texts: Sequence[str]) -> bool:
        """Return whether every text was embedded in the recorded runs."""
        return all(text in self.vectors for text in texts)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors, unit length, `(n, d)`. Raises ModelError for a text without one."""
        import numpy as np

        if not self.has_all(texts):
            raise ModelError(f"The recording holds no vectors of all these {len(texts)} texts.")
        return Embedded(np.stack([self.vectors[text] for text in texts]), input_tokens=0)


def read_vectors(path: Path) -> RecordedVectors | None:
    """Return the vectors of the last embedder on the cassette; None where there was none.

    Raises InputError naming the line that cannot be read.
    """
    by_model: dict[str, dict[str, Any]] = {}
    for line in tape.read_tape(path)[1:]:
        if line.value.get("kind") != "embed" or "answer" not in line.value:
            continue
        try:
            embedded = read_embedded_answer(line.value["answer"])
            texts = line.value["request"]["texts"]
            known = by_model.pop(line.value["by"], {})
            known |= dict(zip(texts, embedded.vectors, strict=True))
            by_model[line.value["by"]] = known
        except (InputError, LookupError, TypeError, ValueError) as error:
            raise tape.damaged_error(path, line.number, error) from error
    if not by_model:
        return None
    name, vectors = by_model.popitem()
    return RecordedVectors(name, vectors)
