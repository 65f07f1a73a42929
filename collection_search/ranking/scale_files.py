"""The scales of models that other processes have measured: one small file for each fingerprint."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any, Final

from ..runtime.whole_file import write_whole
from ..text.validation import whole_number
from .anchors import anchors_version
from .model_scale import ModelScale, Separation

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

FOLDER: Final = "calibrations"
"""Its name in the data folder."""
_OWNER_ONLY: Final = 0o600


def read_scale(folder: Path, fingerprint: str) -> ModelScale | None:
    """Return the scale by these anchors; None where there is no valid file.

    A file of an early version has medians alone, and such a scale is not complete; later ones have
    no dimension.
    """
    try:
        stored = json.loads(_path(folder, fingerprint).read_text("utf-8"))
        scale = ModelScale(
            float(stored["unrelated"]),
            float(stored["related"]),
            {name: _separation(each) for name, each in dict(stored.get("languages", {})).items()},
            whole_number(stored.get("dimension")),
        )
        fits = (stored["fingerprint"], stored["anchors"]) == (fingerprint, anchors_version())
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None
    is_sound = -1 <= scale.unrelated < scale.related <= 1
    return scale if fits and is_sound and scale.tells_apart else None


def write_scale(folder: Path, fingerprint: str, scale: ModelScale) -> None:
    """Store the scale for other processes, atomically."""
    path = _path(folder, fingerprint)
    stored = {
        "fingerprint": fingerprint,
        "anchors": anchors_version(),
        "unrelated": scale.unrelated,
        "related": scale.related,
        "dimension": scale.dimension,
        "languages": {name: each._asdict() for name, each in scale.separations.items()},
    }
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with write_whole(path) as draft:
            draft.chmod(_OWNER_ONLY)
            draft.write_text(json.dumps(stored), "utf-8")
    except OSError as error:
        logger.info("the scale of %s stays in memory only: %s", fingerprint, error)


def delete_scale(folder: Path, fingerprint: str) -> None:
    """Delete the stored scale; the next use measures it anew."""
    try:
        _path(folder, fingerprint).unlink(missing_ok=True)
    except OSError as error:
        logger.info("the stored scale of %s stays: %s", fingerprint, error)


def _separation(stored: Any) -> Separation:
    """Return the figures of a language. Raises ValueError for impossible ones."""
    found = Separation(float(stored["auc"]), float(stored["distance"]))
    if not (0 <= found.auc <= 1 and abs(found.distance) <= 100):  # noqa: PLR2004 - see `_separation`
        raise ValueError("no figures of a language")
    return found


def _path(folder: Path, fingerprint: str) -> Path:
    return folder / FOLDER / f"{hashlib.sha256(fingerprint.encode()).hexdigest()[:16]}.json"
