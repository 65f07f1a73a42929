"""A site of hostile and odd servers, with the expected result of reading each page."""

from __future__ import annotations

from functools import cache

from . import bombs, delays, redirects, stand_in_pages
from . import charsets_and_markup as texts
from . import file_types as documents
from . import robots_files as robots
from . import statuses as answers
from .case import Case, CaseOutcome
from .resolver import ScriptedResolver
from .server import HostileSite

__all__ = ["Case", "CaseOutcome", "HostileSite", "ScriptedResolver", "cases"]


@cache
def cases() -> tuple[Case, ...]:
    """Return every case; their names are unique."""
    parts = (bombs, delays, redirects, robots, texts, documents, answers, stand_in_pages)
    return tuple(case for part in parts for case in part.cases())
