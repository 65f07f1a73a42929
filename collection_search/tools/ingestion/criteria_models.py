"""The models that judge pages before they are stored: each tenant's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...context import SearchContext
from ..criteria.text_judgement import criteria_on_page, judge_text
from .page_payers import paying_for

if TYPE_CHECKING:
    from ...contracts.criteria import PageCriteria
    from ...contracts.ingestion import Claim
    from ...ports import SpanSink, TraceRef
    from ...settings import Settings


class CriteriaModels:
    """The contexts whose models judge the pages of an engine; by default that of its settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._payers: dict[str, SearchContext] = {}
        """By tenant: the last one that started an ingestion here."""

    def add(self, payer: SearchContext | None) -> None:
        """Let the model of this context judge the pages of its tenant, and pay for it."""
        if payer is not None:
            self._payers[payer.tenant()] = payer

    async def judge(
        self, claim: Claim, title: str, text: str, sink: SpanSink, trace: TraceRef | None
    ) -> PageCriteria | None:
        """Return the verdicts about the page's text, None where it is not to be judged.

        Raises CriteriaNotMetError for a page that is not to be stored, CriteriaNotJudgedError for
        one that waits for a model, CostLimitReached, and ConfigError.
        """
        asked = criteria_on_page(claim.provenance, is_staged=claim.content_ref is not None)
        if asked is None:
            return None
        criteria, unclear = asked
        known = self._payers.get(claim.scope.tenant_id)
        payer = paying_for(claim, known or SearchContext(settings=self._settings))
        return await judge_text(
            title, text, criteria, unclear=unclear, payer=payer, sink=sink, trace=trace
        )
