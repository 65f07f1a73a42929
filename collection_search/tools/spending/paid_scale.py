"""The scale of an embedder's similarities, measured at its first use and paid by a run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import CollectionSearchError
from ...ranking.anchors import anchor_texts
from ...ranking.calibration import known_scale, scale_of, start_scale
from ...runtime.concurrency import offload

if TYPE_CHECKING:
    from pathlib import Path

    from ...context import SearchContext
    from ...ranking.model_scale import ModelScale
    from .paid_embedder import PaidEmbedder

_recordings: set[asyncio.Task[ModelScale]] = set()


def start_paid_scale(
    embedder: PaidEmbedder, context: SearchContext, *, dimension: int | None = None
) -> asyncio.Future[ModelScale]:
    """Return the scale under way, as `start_scale` does; the embedder's account pays for it.

    A recording gets the anchors also where the scale is known, so that other machines can replay
    it; what keeps it from them changes nothing in the run. A replay reads them there.
    """
    home, cassette = context.using().home, context.cassette
    if cassette is None:
        return start_scale(embedder, folder=home, dimension=dimension)
    folder = cassette.recorded_scale(embedder.fingerprint)
    scale = start_scale(embedder, folder=folder or home, dimension=dimension)
    if cassette.replays:
        return scale
    task = asyncio.ensure_future(_recorded(scale, embedder, context))
    _recordings.add(task)
    task.add_done_callback(_end_recording)
    return task


async def unmeasured_anchors(fingerprint: str, context: SearchContext) -> list[str]:
    """Return the texts that a first use of the embedder has to embed; none where it is known.

    A recording embeds them in any case.
    """
    cassette = context.cassette
    if cassette is None or cassette.replays:
        scale = await known_scale(fingerprint, folder=context.using().home)
        if scale is not None and scale.is_complete:
            return []
    return await offload(anchor_texts)


async def _recorded(
    under_way: asyncio.Future[ModelScale], embedder: PaidEmbedder, context: SearchContext
) -> ModelScale:
    scale = await asyncio.shield(under_way)
    cassette = context.cassette
    folder: Path | None = cassette.unrecorded_scale(embedder.fingerprint) if cassette else None
    if folder is not None:
        with suppress(CollectionSearchError):  # the failure of a call is on the cassette
            await scale_of(embedder, folder=folder)
    return scale


def _end_recording(task: asyncio.Task[ModelScale]) -> None:
    _recordings.discard(task)
    if not task.cancelled():
        task.exception()  # read, since perhaps no caller awaits it
