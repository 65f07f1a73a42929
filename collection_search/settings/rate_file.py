"""The file of the data folder in which processes share what they learnt of providers' rates."""

from __future__ import annotations

import json
import logging
import os
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, get_args

from ..resilience.known_rate import MAX_INTERVAL_S, MAX_WINDOW_S, KnownRate, RateSource
from ..runtime.private_files import create_private
from ..runtime.whole_file import write_whole
from ..text.validation import number_within, whole_number

if TYPE_CHECKING:
    from pathlib import Path

RATE_FILE: Final = "rates.json"
MAX_RATES: Final = 500
"""Rates of the file; the oldest is dropped."""
_MAX_BURST: Final = 100_000
_saving = threading.Lock()
_LOGGER = logging.getLogger(__name__)


class RateFile:
    """The rate of one provider and key in the file; it is a hint, so that no error is raised."""

    def __init__(self, home: Path, name: str) -> None:
        self._path = home / RATE_FILE
        self._name = name

    def load(self) -> KnownRate | None:
        """Return the rate that a process saved, None where there is none that can be used."""
        return _parse(self._read().get(self._name))

    def save(self, known: KnownRate) -> None:
        """Save the rate; the last of two processes wins. Without a data folder do nothing."""
        with _saving:
            rates = self._read()
            rates.pop(self._name, None)
            rates[self._name] = asdict(known)
            kept = dict(list(rates.items())[-MAX_RATES:])
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                create_private(self._path)
                with write_whole(self._path) as draft:
                    draft.write_text(json.dumps(kept), "utf-8")
            except OSError as error:
                _LOGGER.debug("The rate of a provider cannot be written down: %s", error.strerror)

    def _read(self) -> dict[str, Any]:
        try:
            rates = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return rates if isinstance(rates, dict) else {}


def _parse(given: Any) -> KnownRate | None:
    if not isinstance(given, dict) or given.get("source") not in get_args(RateSource):
        return None
    interval_s = number_within(given.get("interval_s"), 0.0, max(MAX_INTERVAL_S, MAX_WINDOW_S))
    burst = whole_number(given.get("burst"), least=1, most=_MAX_BURST)
    at = number_within(given.get("at"), 0.0, 1e12)
    if interval_s is None or burst is None or at is None:
        return None
    return KnownRate(given["source"], interval_s, burst, at)


def _begin_anew() -> None:
    global _saving  # noqa: PLW0603 - a thread that the child lacks may hold it
    _saving = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
