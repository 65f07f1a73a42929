"""Calibration of a model's similarities, measured once on the built-in anchors.

The scale of each fingerprint is cached in memory and in a small file of the data folder.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from ..contracts.collection import Embedded
from ..errors import CostLimitReached, ModelError
from ..runtime.concurrency import offload
from ..runtime.failure_log import log_failure
from ..text.redaction import redact
from .anchors import anchor_texts
from .model_scale import ModelScale, measure_scale
from .scale_files import delete_scale, read_scale, write_scale
from .scoring import LEXICAL, Calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..ports import Embedder

logger = logging.getLogger(__name__)

PART: Final = 32
"""Texts of one request where the model does not accept all of them."""
FAILED_FOR_S: Final = 300.0
"""Seconds after a failure in which no measurement is tried."""

_MAX_WARNED: Final = 64
_Model: TypeAlias = tuple[Path, str]
"""Data folder and fingerprint."""
_Flight: TypeAlias = tuple[asyncio.AbstractEventLoop, _Model]


class _Failure(NamedTuple):
    until: float
    cause: str


_known: dict[_Model, ModelScale] = {}
_failed: dict[_Model, _Failure] = {}
_warned: set[str] = set()
_flights: dict[_Flight, asyncio.Task[ModelScale]] = {}


async def scale_of(
    embedder: Embedder, *, folder: Path, clock: Callable[[], float] = time.monotonic
) -> ModelScale:
    """Return the scale of the embedder; `folder` is the settings' data folder.

    The first call embeds the anchors in one request, and in parts where that fails; calls at the
    same time share it. Raises ModelError when both fail, where a retry may help after
    `FAILED_FOR_S` seconds of `clock`, and what an embedder raises within a ceiling.
    """
    return await asyncio.shield(start_scale(embedder, folder=folder, clock=clock))


def start_scale(
    embedder: Embedder,
    *,
    folder: Path,
    clock: Callable[[], float] = time.monotonic,
    dimension: int | None = None,
) -> asyncio.Future[ModelScale]:
    """Return a future of `scale_of`, already started.

    Wait for it by `await_calibration`; without that it still runs to its end. The embedder of the
    call that starts a measurement makes its requests, so a `PaidEmbedder` pays for all of them. A
    scale of vectors of another `dimension` is measured anew: another model has the name by now.
    """
    loop, model = asyncio.get_running_loop(), (folder, embedder.fingerprint)
    if (scale := _known.get(model)) and scale.fits(dimension):
        return _settled(loop.create_future(), scale)
    flight = loop, model
    if under_way := _flights.get(flight):
        again = partial(start_scale, embedder, folder=folder, clock=clock, dimension=dimension)
        return loop.create_task(_shared(under_way, again))
    if (failure := _failed.get(model)) and clock() < failure.until:
        return _settled(loop.create_future(), failure)
    task = _flights[flight] = loop.create_task(_measured_once(embedder, folder, clock, dimension))
    task.add_done_callback(lambda task: _land(flight, task))
    return task


async def _shared(
    under_way: asyncio.Future[ModelScale], again: Callable[[], asyncio.Future[ModelScale]]
) -> ModelScale:
    """Return the scale that another call measures; a ceiling that ends it is not this call's."""
    try:
        return await asyncio.shield(under_way)
    except CostLimitReached:
        return await asyncio.shield(again())


async def known_scale(fingerprint: str, *, folder: Path) -> ModelScale | None:
    """Return the scale of an embedder that was measured before; None for any other."""
    if scale := _known.get((folder, fingerprint)):
        return scale
    scale = await offload(read_scale, folder, fingerprint)
    if scale is not None and scale.is_complete:
        _known[folder, fingerprint] = scale
    return scale


def forget_scale(fingerprint: str, *, folder: Path) -> None:
    """Forget the scale, and a failure to measure it; the next use measures it anew. Blocks."""
    _known.pop((folder, fingerprint), None)
    _failed.pop((folder, fingerprint), None)
    delete_scale(folder, fingerprint)


async def await_calibration(
    under_way: asyncio.Future[ModelScale],
    question: str,
    *,
    dimension: int | None = None,
    again: Callable[[], asyncio.Future[ModelScale]] | None = None,
) -> Calibration:
    """Return the calibration for the question; after a failure `LEXICAL`, with one warning.

    A scale that does not fit vectors of this dimension is replaced by that of `again`.

    So too where the ceiling of a run did not allow the measurement.

    Where the model cannot tell in the question's language it is `LEXICAL` with that reason.
    """
    try:
        scale = await asyncio.shield(under_way)
        if again is not None and not scale.fits(dimension):
            scale = await asyncio.shield(again())
        return scale.calibration_for(question)
    except (ModelError, CostLimitReached) as error:
        if (cause := str(error)) not in _warned:
            if len(_warned) >= _MAX_WARNED:
                _warned.clear()
            _warned.add(cause)
            log_failure(logger, "words are compared instead", error)
        return LEXICAL


async def _measured_once(
    embedder: Embedder, folder: Path, clock: Callable[[], float], dimension: int | None
) -> ModelScale:
    name = embedder.fingerprint
    scale = await known_scale(name, folder=folder)
    if scale is not None and not scale.fits(dimension):
        scale = None
    if scale is None or not scale.is_complete:
        try:
            scale = await _measured(embedder)
        except ModelError as error:
            if scale is None:
                _failed[folder, name] = _Failure(clock() + FAILED_FOR_S, str(error))
                raise
            logger.warning("the languages of %s stay unknown: %s", name, error)
        except CostLimitReached as error:  # of one run: others measure it
            if scale is None:
                raise
            logger.info("the languages of %s stay unknown for now: %s", name, error)
            return scale
        else:
            if scale.tells_apart:
                await offload(write_scale, folder, name, scale)
    _known[folder, name] = scale
    _failed.pop((folder, name), None)
    return scale


async def _measured(embedder: Embedder) -> ModelScale:
    texts = await offload(anchor_texts)
    try:
        try:
            embedded = await embedder.embed(texts)
            scale = measure_scale(embedded.vectors)
        except CostLimitReached:
            raise
        except Exception as error:  # noqa: BLE001 - what an endpoint says to too many texts varies
            logger.info("the anchors are embedded in parts: %s", redact(str(error)))
            embedded = await _in_parts(embedder, texts)
            scale = measure_scale(embedded.vectors)
    except CostLimitReached:
        raise
    except Exception as error:
        raise ModelError(
            f"The scale of the embedder {embedder.fingerprint} could not be measured:"
            f" {redact(str(error))}"
        ) from error
    logger.info(
        "measured the scale of %s on %d anchor texts (tokens: %s): median cosine"
        " %.3f of unrelated and %.3f of related pairs; %s",
        embedder.fingerprint,
        len(texts),
        "unknown" if embedded.input_tokens is None else embedded.input_tokens,
        scale.unrelated,
        scale.related,
        scale.described(),
    )
    return scale


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


def _settled(
    future: asyncio.Future[ModelScale], found: ModelScale | _Failure
) -> asyncio.Future[ModelScale]:
    if isinstance(found, _Failure):
        future.set_exception(ModelError(found.cause))
        future.exception()  # read, since perhaps no caller awaits it
    else:
        future.set_result(found)
    return future


def _land(flight: _Flight, task: asyncio.Task[ModelScale]) -> None:
    del _flights[flight]
    if not task.cancelled():
        task.exception()  # read, since perhaps no caller awaits it
