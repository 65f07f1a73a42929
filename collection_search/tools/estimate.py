"""Estimates the cost of a run from characters and list prices, without any call."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ..contracts.prices import (
    CHARS_PER_TOKEN,
    tokens_in,
    total_cost,
)
from ..planning.criteria_prompts import criteria_messages
from ..planning.fallback import complete_queries, fallback_queries
from ..planning.premium_prompt import premium_messages
from ..planning.prompts import strategy_messages
from ..planning.quality import MAX_QUERIES, QUALITY, results_per_query, rows_to_request
from ..ports import ChatModel, JudgedPage
from ..ports.description import describe
from ..ports.search_function import Asked
from ..runtime.spans import NULL_SINK
from ..text.counted import counted
from .criteria.judge import require_judge
from .criteria.page_batches import JUDGED_CHARS, RESULT_CHARS, pages_per_call
from .search.billing import price_of
from .search.route import build_route
from .spending.account import Account
from .spending.paid_scale import unmeasured_anchors
from .spending.plan_cache import cached_plan, plan_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from ..context import SearchContext
    from ..contracts.inputs import GraphInput
    from ..contracts.price_list import PriceKind, PriceList
    from ..ports import QueryModel

CANDIDATE_CHARS: Final = (200, 900)
"""Minimum and maximum length of a page's title and snippet."""
PAGE_CHARS: Final = 40_000
"""Length of a long page's text."""
_LONG_TOKEN: Final = 5
"""Characters of a token in easy text."""


@dataclass(frozen=True, slots=True)
class CostPart:
    """A part of the run's cost, from `low` to `high`."""

    kind: PriceKind
    task: str
    name: str
    unit: str
    low: float
    high: float
    low_usd: float | None
    """None, as `high_usd`: the price is not known."""
    high_usd: float | None
    seen: date | None = None
    """The day on which the price was read; None for a user's own."""

    def as_dict(self) -> dict[str, Any]:
        """Return the part as JSON has it, with the day of its price."""
        facts = asdict(self)
        del facts["kind"], facts["seen"]
        return facts | {"priced_on": self.seen.isoformat() if self.seen else None}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a run, without anything that is computed on this machine."""

    parts: Sequence[CostPart]
    known: Sequence[str] = ()
    """Parts that cost nothing, since their answers are cached."""

    @property
    def low_usd(self) -> float:
        """At least, as far as prices are known."""
        return total_cost(part.low_usd or 0.0 for part in self.parts)

    @property
    def high_usd(self) -> float:
        """At most, as far as prices are known."""
        return total_cost(part.high_usd or 0.0 for part in self.parts)

    @property
    def unknown(self) -> list[str]:
        """Names whose price is not known."""
        return list(dict.fromkeys(part.name for part in self.parts if part.high_usd is None))

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON has it."""
        return {
            "parts": [part.as_dict() for part in self.parts],
            "low_usd": self.low_usd,
            "high_usd": self.high_usd,
            "unknown": self.unknown,
            "known_from_before": list(self.known),
        }


async def estimate_run(given: GraphInput, context: SearchContext) -> Estimate:
    """Return the cost of a run with this input. Raises ConfigError, InputError as the run would."""
    model = await context.query_model()
    criteria: Sequence[str] = getattr(given, "criteria", ())
    judge = await require_judge(context) if criteria else None
    (provider, *fallbacks), _ = await context.search_providers()
    embedders = await context.embedders()
    given = given.model_copy(update={"purpose": context.searched_purpose(given.purpose)})
    tariff = _Tariff(given, context.prices())
    queries = await _cached_queries(given, context, model)
    least = QUALITY[given.quality_mode].min_queries
    least, most = (least, MAX_QUERIES) if queries is None else (len(queries), len(queries))
    known: list[str] = []
    parts: list[CostPart] = []
    if queries is None and model is not None:
        parts.append(tariff.plan(model.model_name))
    elif model is not None:
        known.append("the plan")
    spared = 0
    search = tariff.searches(provider.adapter, least, most)
    if queries is not None and search.high_usd != 0:
        spared = await _cached_searches(queries, given, context)
        known += [f"{spared} of {most} searches"] if spared else []
    if spared < most:
        parts.append(_share(search, (most - spared) / most))
        for each in fallbacks:  # may get all queries, if the first provider fails
            part = _share(tariff.searches(each.adapter, least, most), (most - spared) / most)
            parts.append(replace(part, task="fallback", low=0, low_usd=part.low_usd and 0.0))
    for place, embedder in enumerate(embedders):
        name, is_first = embedder.fingerprint, place == 0
        compared, stored = tariff.embeddings(name, most, may_be_known=spared == most)
        parts += [compared, *await _anchors(name, tariff, context)]
        if is_first and given.auto_ingest:  # the collection has vectors of the first one alone
            parts.append(stored)
    if context.reranker_choice() == "model":
        parts.extend(tariff.judgements(model))
    if judge is not None:
        on_pages = context.using().criteria_on_pages
        parts.extend(tariff.criteria(criteria, judge.model_name, on_pages=on_pages))
    return Estimate([part for part in parts if part.high_usd != 0], known)


async def _anchors(fingerprint: str, tariff: _Tariff, context: SearchContext) -> list[CostPart]:
    """Return the cost of measuring the scale of an embedder that is new; nothing for others."""
    if context.profile() == "literal":
        return []
    texts = await unmeasured_anchors(fingerprint, context)
    return [tariff.anchors(fingerprint, texts)] if texts else []


async def _cached_queries(
    given: GraphInput, context: SearchContext, model: QueryModel | None
) -> list[str] | None:
    """Return the queries that the run will send; None where a model has to be asked for them."""
    wanted = QUALITY[given.quality_mode].min_queries
    if model is None:
        return fallback_queries(given.question, purpose=given.purpose, count=wanted)
    account = Account(context, context.ids())
    if (plan := await cached_plan(account, plan_key(given, context))) is None:
        return None
    return complete_queries(plan.queries, given.question, purpose=given.purpose, minimum=wanted)


async def _cached_searches(queries: list[str], given: GraphInput, context: SearchContext) -> int:
    """Return how many of the queries the first provider's cache answers."""
    quality = QUALITY[given.quality_mode]
    route = await build_route(
        context,
        max_results=results_per_query(given.max_candidates, len(queries)),
        oversample_factor=quality.oversample_factor,
        sink=NULL_SINK,
        account=Account(context, context.ids()),
    )
    return await route.known(queries, quality.options)


def _share(part: CostPart, share: float) -> CostPart:
    """Return a share of the part."""
    low_usd, high_usd = (usd and usd * share for usd in (part.low_usd, part.high_usd))
    part = replace(part, low_usd=low_usd, high_usd=high_usd)
    return replace(part, low=part.low * share, high=part.high * share)


@dataclass(frozen=True, slots=True)
class _Tariff:
    """The parts of a run's cost, by the run's input and prices."""

    given: GraphInput
    prices: PriceList

    def _dated(self, part: CostPart) -> CostPart:
        return replace(part, seen=self.prices.price_date(part.kind, part.name))

    def plan(self, model: str) -> CostPart:
        """Return the cost of planning the queries."""
        question, purpose = self.given.question, self.given.purpose
        messages = strategy_messages(question, purpose=purpose, count=MAX_QUERIES)
        high = tokens_in(text for _, text in messages)
        low = sum(len(text) for _, text in messages) // _LONG_TOKEN
        least, most = self.prices.plan_tokens(model)
        costs = self.prices.chat_cost(model, low, least), self.prices.chat_cost(model, high, most)
        part = CostPart("chat", "plan", model, "tokens", low + least, high + most, *costs)
        return self._dated(part)

    def judgements(self, model: QueryModel | None) -> Iterator[CostPart]:
        """Yield the cost of judging pages: from none, as all scores may be sure, to all."""
        band = QUALITY[self.given.quality_mode].judged_band
        if band is None or not isinstance(model, ChatModel):
            return
        count = min(band.max_pages, self.given.max_candidates)
        longest = JudgedPage("", "x" * CANDIDATE_CHARS[1], "")
        messages = premium_messages(self.given.question, count * [longest])
        asked = tokens_in(one.text for one in messages)
        name, most = model.model_name, self.prices.judgement_tokens(model.model_name, count)
        cost = self.prices.chat_cost(name, asked, most)
        part = CostPart("chat", "judge", name, "tokens", 0, asked + most, cost and 0.0, cost)
        yield self._dated(part)

    def searches(self, adapter: Any, least: int, most: int) -> CostPart:
        """Return the cost of so many queries."""
        name = describe(adapter).info.name
        ranges = [self._units(adapter, queries) for queries in (least, most)]
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        costs = self.prices.search_cost(name, low), self.prices.search_cost(name, high)
        return self._dated(CostPart("search", "search", name, "requests", low, high, *costs))

    def _units(self, adapter: Any, queries: int) -> tuple[float, float]:
        """Return the price units of this number of queries, with one page and with all pages."""
        quality = QUALITY[self.given.quality_mode]
        wanted = results_per_query(self.given.max_candidates, queries)
        described = describe(adapter)
        size = described.info.page_size
        count = rows_to_request(wanted, oversample_factor=quality.oversample_factor, page_size=size)
        first = count if size is None else min(count, size)
        price = price_of(described)
        asked = (Asked(self.given.question, n, quality.options) for n in (first, count))
        low, high = (price(each).units for each in asked)
        return queries * low, queries * high

    def embeddings(
        self, fingerprint: str, queries: int, *, may_be_known: bool
    ) -> tuple[CostPart, CostPart]:
        """Return the cost of comparing and of ingesting; vectors to compare `may_be_known`."""
        rows = results_per_query(self.given.max_candidates, queries)
        short, long = CANDIDATE_CHARS
        low = 0 if may_be_known else (len(self.given.question) + rows * short) // _LONG_TOKEN
        high = (len(self.given.question) + queries * rows * long) // CHARS_PER_TOKEN
        most = self.given.auto_ingest_top_k * PAGE_CHARS // CHARS_PER_TOKEN
        compared = self._embedding("rank", fingerprint, low, high)
        return compared, self._embedding("ingest", fingerprint, 0, most)

    def anchors(self, fingerprint: str, texts: Sequence[str]) -> CostPart:
        """Return the cost of the texts that give a new embedder its scale."""
        low = sum(map(len, texts)) // _LONG_TOKEN
        return self._embedding("anchors", fingerprint, low, tokens_in(texts))

    def criteria(
        self, criteria: Sequence[str], model: str, *, on_pages: bool
    ) -> Iterator[CostPart]:
        """Yield the cost of judging the results, and of judging pages before they are stored."""
        chars = CANDIDATE_CHARS[1] + RESULT_CHARS
        each = pages_per_call(len(criteria))
        pages = self.given.max_candidates
        yield self._judgement("criteria", model, criteria, pages, each=each, chars=chars)
        if on_pages and self.given.auto_ingest:
            pages = self.given.auto_ingest_top_k
            yield self._judgement("pages", model, criteria, pages, each=1, chars=JUDGED_CHARS)

    def _judgement(
        self, task: str, model: str, criteria: Sequence[str], pages: int, *, each: int, chars: int
    ) -> CostPart:
        """Return the cost of judging up to so many pages; they may be fewer, or known."""
        calls = math.ceil(pages / each)
        rules = tokens_in(message.text for message in criteria_messages(criteria, []))
        asked = calls * rules + pages * chars // CHARS_PER_TOKEN
        made = calls * self.prices.verdict_tokens(model, min(each, pages) * len(criteria))
        cost = self.prices.chat_cost(model, asked, made)
        unit = f"tokens in {counted(calls, 'call')} at most"
        part = CostPart("chat", task, model, unit, 0, asked + made, cost and 0.0, cost)
        return self._dated(part)

    def _embedding(self, task: str, fingerprint: str, low: int, high: int) -> CostPart:
        least, most = (self.prices.embedding_cost(fingerprint, tokens) for tokens in (low, high))
        part = CostPart("embedding", task, fingerprint, "tokens", low, high, least, most)
        return self._dated(part)
