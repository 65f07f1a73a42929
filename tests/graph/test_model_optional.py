"""An empty plan is nobody's plan, and a refused key may end a run."""

from __future__ import annotations

from typing import Any

import pytest
from support.scripted_world import INPUT, good_pages

from collection_search import CollectionSearchGraph, SearchContext
from collection_search.errors import ModelError
from collection_search.testing import ScriptedAdapter, ScriptedQueryModel

REFUSED = ModelError("refused the key", may_be_billed=False, key_refused=True)


def run(context: SearchContext, **ports: Any) -> Any:
    return CollectionSearchGraph(context.model_copy(update=ports)).run(INPUT)[1]


@pytest.mark.parametrize("queries", [[], ["", "  "], ["..."]])
def test_an_empty_plan_is_flagged(context: SearchContext, queries: list[str]) -> None:
    """All queries are deterministic, and the answer is paid for all the same."""
    model = ScriptedQueryModel(queries, model_name="gpt-4o-mini")
    result = run(context, model=model)
    assert result["flags"] == ["strategy_fallback"]
    assert result["strategy"]["fallback"] is True
    assert "gave no query" in result["strategy"]["error"]
    assert len(result["strategy"]["queries"]) == 3
    facts = result["telemetry"]["nodes"]["k_generate_strategy"]
    assert (facts["input_tokens"], facts["output_tokens"]) == (29, 44)
    assert facts["cost_usd"] > 0


def test_a_plan_that_is_completed_stays_the_models(context: SearchContext) -> None:
    """One usable query is a plan."""
    result = run(context, model=ScriptedQueryModel(["asyncio cancel"]))
    assert (result["flags"], result["strategy"]["fallback"]) == ([], False)


def test_a_failed_plan_costs_what_its_answers_did(context: SearchContext) -> None:
    """The error knows their tokens."""
    error = ModelError("holds no list of queries", input_tokens=1_000, output_tokens=100)
    result = run(context, model=ScriptedQueryModel(error, model_name="gpt-4o-mini"))
    facts = result["telemetry"]["nodes"]["k_generate_strategy"]
    assert facts["cost_usd"] == pytest.approx(0.00021)


def test_a_refused_key_falls_back_by_default(context: SearchContext) -> None:
    """As the graph is specified; a caller of a server is not harmed."""
    result = run(context, model=ScriptedQueryModel(REFUSED))
    assert result["flags"] == ["strategy_fallback"]
    assert result["outcome"] == "search_completed"


def test_a_refused_key_ends_a_run_whose_model_is_not_optional(context: SearchContext) -> None:
    """Before anything is searched; other failures still fall back."""
    provider = ScriptedAdapter(good_pages())
    ports: dict[str, Any] = {"model_optional": False, "provider": provider}
    with pytest.raises(ModelError, match="refused the key"):
        run(context, model=ScriptedQueryModel(REFUSED), **ports)
    assert provider.requests == []
    result = run(context, model=ScriptedQueryModel(ModelError("down")), **ports)
    assert result["flags"] == ["strategy_fallback"]
