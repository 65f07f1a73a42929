"""What the rules of the run's tenant make of the candidates."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..ranking.preferences import Preferences, judge_preferences
from ..ranking.scoring import PageText
from ..text.timestamps import utc_day

if TYPE_CHECKING:
    from ..contracts.state import CollectionSearchState
    from .stage import StageRun


def tenant_preferences(state: CollectionSearchState, run: StageRun) -> Preferences | None:
    """Return what the setting `heuristics` makes of the candidates; None without that setting.

    The tenant is the one that the run belongs to. A page is as old as it was when the run began.
    """
    settings = run.context.using().heuristics
    if settings is None:
        return None
    rules = settings.rules_for(run.context.tenant(), state["collection_scope"])
    found = state["candidates"]
    return judge_preferences(
        rules,
        [PageText(one["title"], one["snippet"], one["url"]) for one in found],
        [utc_day(one["published_date"]) for one in found],
        today=datetime.fromtimestamp(state["started_at"], UTC).date(),
    )
