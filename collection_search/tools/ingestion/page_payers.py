"""Who pays for the work on a page of the ledger: a run, under its ceiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...settings.page_rules import rules_of

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.ingestion import Claim
    from ...contracts.page import PageRules


def paid_rules(context: SearchContext, run_id: str = "") -> PageRules:
    """Return the rules of pages that the run pays for, under the context's ceiling."""
    told = {"run_id": run_id, "max_cost_usd": context.cost_limit()}
    return rules_of(context.using()).model_copy(update=told)


def paying_for(claim: Claim, payer: SearchContext) -> SearchContext:
    """Return the payer as the tenant and the run that the page belongs to, with their ceiling.

    Without a ceiling of the page that of the payer's settings holds; without a run each page is one
    of its own.
    """
    rules = claim.rules
    run_id = (rules.run_id if rules else "") or claim.provenance.get("run_id")
    return payer.model_copy(
        update={
            "tenant_id": claim.scope.tenant_id,
            "run_id": str(run_id) if run_id else None,
            "max_cost_usd": rules.max_cost_usd if rules else None,
        }
    )


def payer_key(payer: SearchContext, claim: Claim) -> tuple[object, ...]:
    """Return what the pages that one run pays for have in common, and no others."""
    if payer.run_id is None:
        return claim.row_id, claim.fence
    return payer.tenant(), payer.run_id, payer.max_cost_usd
