"""Calibration of a model's similarities, measured once on the built-in anchors.

The medians of each fingerprint are cached in memory and in a small file of the data folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from ..contracts.collection import Embedded
from ..contracts.prices import embedding_cost
from ..errors import ModelError
from ..runtime.concurrency import offload
from ..runtime.whole_file import write_whole
from ..text.redaction import redact, redact_error
from .anchors import anchors, anchors_version
from .scoring import DENSE, LEXICAL, Calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..contracts.collection import Vectors
    from ..ports import Embedder

logger = logging.getLogger(__name__)

FOLDER: Final = "calibrations"
MIN_DISTANCE: Final = 0.02
"""Least distance of the medians of a usable model."""

PART: Final = 32
"""Texts of one request where the model does not accept all of them."""
FAILED_FOR_S: Final = 300.0
"""Seconds after a failure in which no measurement is tried."""

_MAX_WARNED: Final = 64
_Model: TypeAlias = tuple[Path, str]
"""Data folder and fingerprint."""
_Flight: TypeAlias = tuple[asyncio.AbstractEventLoop, _Model]


class Medians(NamedTuple):
    """A model's median cosines of unrelated and of related pairs."""

    unrelated: float
    related: float

    @property
    def tell_apart(self) -> bool:
        """True when related pairs lie clearly higher."""
        distance = self.related - self.unrelated
        return math.isfinite(distance) and distance > MIN_DISTANCE


class _Failure(NamedTuple):
    until: float
    cause: str


_known: dict[_Model, Medians] = {}
_failed: dict[_Model, _Failure] = {}
_warned: set[str] = set()
_flights: dict[_Flight, asyncio.Task[Calibration]] = {}


async def calibration_of(
    embedder: Embedder, *, folder: Path, clock: Callable[[], float] = time.monotonic
) -> Calibration:
    """Return the calibration of the embedder; `folder` is the settings' data folder.

    The first call embeds the anchors in one request, and in parts where that fails; calls at the
    same time share it. Raises ModelError when both fail, where a retry may help after
    `FAILED_FOR_S` seconds of `clock`, and when the model cannot separate related from unrelated
    texts.
    """
    return await asyncio.shield(start_calibration(embedder, folder=folder, clock=clock))


def start_calibration(
    embedder: Embedder, *, folder: Path, clock: Callable[[], float] = time.monotonic
) -> asyncio.Future[Calibration]:
    """Return a future of `calibration_of`, already started.

    Wait for it by `await_calibration`; without that it still runs to its end.
    """
    loop, model = asyncio.get_running_loop(), (folder, embedder.fingerprint)
    if medians := _known.get(model):
        return _settled(loop.create_future(), embedder, medians)
    flight = loop, model
    if flight not in _flights:
        if (failure := _failed.get(model)) and clock() < failure.until:
            return _settled(loop.create_future(), embedder, failure)
        task = _flights[flight] = loop.create_task(_calibrated(embedder, folder, clock))
        task.add_done_callback(lambda task: _land(flight, task))
    return _flights[flight]


async def await_calibration(under_way: asyncio.Future[Calibration]) -> Calibration:
    """Return the calibration; after a failure `LEXICAL`, with one warning per cause."""
    try:
        return await asyncio.shield(under_way)
    except ModelError as error:
        if (cause := str(error)) not in _warned:
            if len(_warned) >= _MAX_WARNED:
                _warned.clear()
            _warned.add(cause)
            logger.warning("words are compared instead: %s", cause, exc_info=redact_error(error))
        return LEXICAL


def anchor_texts() -> list[str]:
    """Return the texts to embed: per language the questions, then their pages."""
    return [
        text
        for each in anchors().values()
        for text in (*(anchor.question for anchor in each), *(anchor.page for anchor in each))
    ]


def medians_of(vectors: Vectors) -> Medians:
    """Return the medians of the vectors of `anchor_texts`, as means over the languages.

    Languages count separately, since a model may place the texts of one nearer together. Raises
    ModelError for a wrong number of vectors and for values that are not finite.
    """
    expected = 2 * sum(map(len, anchors().values()))
    if len(vectors) != expected or not np.isfinite(vectors).all():
        raise ModelError(f"{expected} sound vectors were expected, not these {len(vectors)}.")
    found, start = [], 0
    for size in map(len, anchors().values()):
        questions, pages = np.split(vectors[start : start + 2 * size], 2)
        cosines, own = questions @ pages.T, np.eye(size, dtype=bool)
        found.append((float(np.median(cosines[~own])), float(np.median(cosines[own]))))
        start += 2 * size
    unrelated, related = map(statistics.fmean, zip(*found, strict=True))
    return Medians(round(unrelated, 4), round(related, 4))


async def _calibrated(embedder: Embedder, folder: Path, clock: Callable[[], float]) -> Calibration:
    name = embedder.fingerprint
    path = folder / FOLDER / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
    medians = await offload(_read, path, name)
    if medians is None:
        try:
            medians = await _measured(embedder)
        except ModelError as error:
            _failed[folder, name] = _Failure(clock() + FAILED_FOR_S, str(error))
            raise
        if medians.tell_apart:
            await offload(_write, path, name, medians)
    _known[folder, name] = medians
    _failed.pop((folder, name), None)
    return _calibration(embedder, medians)


async def _measured(embedder: Embedder) -> Medians:
    texts = await offload(anchor_texts)
    try:
        try:
            embedded = await embedder.embed(texts)
            medians = medians_of(embedded.vectors)
        except Exception as error:  # noqa: BLE001 - what an endpoint says to too many texts varies
            logger.info("the anchors are embedded in parts: %s", redact(str(error)))
            embedded = await _in_parts(embedder, texts)
            medians = medians_of(embedded.vectors)
    except Exception as error:
        raise ModelError(
            f"The scale of the embedder {embedder.fingerprint} could not be measured:"
            f" {redact(str(error))}"
        ) from error
    cost = embedding_cost(embedder.fingerprint, embedded.input_tokens)
    logger.info(
        "measured the scale of %s on %d anchor texts (tokens: %s, US dollars: %s): median cosine"
        " %.3f of unrelated and %.3f of related pairs",
        embedder.fingerprint,
        len(texts),
        "unknown" if embedded.input_tokens is None else embedded.input_tokens,
        "unknown" if cost is None else f"{cost:.8f}",
        *medians,
    )
    return medians


async def _in_parts(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    parts = []
    for start in range(0, len(texts), PART):
        asked = texts[start : start + PART]
        parts.append(await embedder.embed(asked))
        if (shape := parts[-1].vectors.shape)[:1] != (len(asked),):
            raise ModelError(f"{len(asked)} vectors were expected, not those of the shape {shape}.")
    tokens = [part.input_tokens for part in parts]
    return Embedded(
        np.concatenate([part.vectors for part in parts]),
        None if None in tokens else sum(filter(None, tokens)),
    )


def _calibration(embedder: Embedder, medians: Medians | _Failure) -> Calibration:
    if isinstance(medians, _Failure):
        raise ModelError(medians.cause)
    if not medians.tell_apart:
        raise ModelError(
            f"The embedder {embedder.fingerprint} does not tell related from unrelated texts:"
            f" median cosines {medians.related:.3f} and {medians.unrelated:.3f}. Choose another"
            " model, one made for search."
        )
    return replace(DENSE, unrelated=medians.unrelated, related=medians.related)


def _settled(
    future: asyncio.Future[Calibration], embedder: Embedder, found: Medians | _Failure
) -> asyncio.Future[Calibration]:
    try:
        future.set_result(_calibration(embedder, found))
    except ModelError as error:
        future.set_exception(error)
        future.exception()  # read, since perhaps no caller awaits it
    return future


def _land(flight: _Flight, task: asyncio.Task[Calibration]) -> None:
    del _flights[flight]
    if not task.cancelled():
        task.exception()  # read, since perhaps no caller awaits it


def _read(path: Path, fingerprint: str) -> Medians | None:
    """Return the medians of these anchors; None where the file has no valid ones."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        medians = Medians(float(stored["unrelated"]), float(stored["related"]))
        fits = (stored["fingerprint"], stored["anchors"]) == (fingerprint, anchors_version())
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None
    is_sound = -1 <= medians.unrelated < medians.related <= 1
    return medians if fits and is_sound and medians.tell_apart else None


def _write(path: Path, fingerprint: str, medians: Medians) -> None:
    """Store the medians for other processes, atomically."""
    stored = {"fingerprint": fingerprint, "anchors": anchors_version(), **medians._asdict()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(path) as draft:
            draft.write_text(json.dumps(stored), "utf-8")
    except OSError as error:
        logger.info("the medians of %s stay in memory only: %s", fingerprint, error)
