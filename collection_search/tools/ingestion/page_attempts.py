"""An attempt to ingest a claimed page, and what follows from its failure."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from ...contracts.ingestion import PageDone
from ...errors import CostLimitReached, FetchError
from ...ports.ledger import NETWORK, embedder_cause, host_cause
from ...runtime.cancellation import failure_of
from ...settings.page_rules import under_rules
from .failures import (
    asking_cause,
    cause_of,
    failed_host,
    has_vanished,
    is_gone_for_good,
    is_model_unavailable,
    is_store_unavailable,
    postponed_s,
    reached_host,
    retry_delay_s,
)
from .leases import netloc
from .pipeline import trace_of

if TYPE_CHECKING:
    from ...contracts.ingestion import Claim
    from ...ports import PageReader, Span, SpanSink
    from .leases import Leases
    from .pipeline import PageWork
    from .watchers import Watchers

NETWORK_HOSTS: Final = 3
"""So many hosts that fail one after another, without an answer between, mean our own network."""


@dataclass(slots=True)
class NetworkWatch:
    """The hosts that were not reached since the last answer of any host."""

    unreached: set[str] = field(default_factory=set)

    def fail(self, host: str) -> list[str]:
        """Note a host without an answer; return the causes of the pause that follows."""
        self.unreached.add(host)
        is_ours = len(self.unreached) >= NETWORK_HOSTS
        return [host_cause(host), *([NETWORK] if is_ours else [])]

    def answer(self) -> None:
        """Note that some host answered."""
        self.unreached.clear()


@dataclass(frozen=True, slots=True)
class PageAttempts:
    """The attempts of one engine; their errors become the causes of the rows."""

    work: PageWork
    sink: SpanSink
    watchers: Watchers
    backoff_s: float
    network: NetworkWatch

    async def run(self, claim: Claim, reader: PageReader | None, leases: Leases) -> None:
        """Ingest one page; an error becomes the row's cause."""
        started = time.monotonic()
        try:
            with self.sink.span("ingest_document", trace=trace_of(claim)) as span:
                span.set({"host": netloc(claim.url), "attempt": claim.attempts})
                span.set({"is_refresh": claim.is_refresh, "is_fetched": claim.needs_fetch})
                error, has_embedded = await self._ingest(claim, reader, span)
                await self._settle_causes(claim, error, has_embedded=has_embedded)
                span.set({"latency_ms": round((time.monotonic() - started) * 1000, 3)})
        finally:
            leases.forget(claim)

    async def _ingest(
        self, claim: Claim, reader: PageReader | None, span: Span
    ) -> tuple[Exception | None, bool]:
        """Return the error, and whether the chunks were embedded."""
        try:
            facts = await self.work.ingest(claim, reader)
        except BaseException as error:  # noqa: BLE001 - the ledger keeps the cause
            failure = failure_of(error)
            await self._note_failure(claim, failure, span)
            return failure, False
        span.set(facts)
        return None, bool(facts["changed"])

    async def _note_failure(self, claim: Claim, error: Exception, span: Span) -> None:
        cause, call, ledger = cause_of(error), self.work.retry.call, self.work.store.ledger
        span.set({"reason": error.reason if isinstance(error, FetchError) else None})
        rules = under_rules(self.work.settings, claim.rules)
        if has_vanished(claim, error, retire_forbidden=rules.fetch_retire_forbidden):
            span.set({"changed": True})
            if await call(ledger.retire, claim, cause, is_final=is_gone_for_good(error)):
                self.watchers.tell(PageDone(claim, "gone", cause))
        elif (in_s := postponed_s(error)) is not None:
            asking = asking_cause(claim, error)
            await call(ledger.postpone, claim, in_s, cause, cause=asking)
        elif causes := await self._outage(claim, error):
            if await call(ledger.pause, claim, causes, cause):
                self.watchers.tell(PageDone(claim, "failed", cause))
            for new in {*causes}.difference(claim.probes):
                self.watchers.tell_pause(new, cause)
        elif is_store_unavailable(error):
            await call(ledger.release, claim)
        else:
            span.fail(type(error).__name__, cause)
            await self._fail(claim, error, cause)

    async def _fail(self, claim: Claim, error: Exception, cause: str) -> None:
        in_s = retry_delay_s(
            claim,
            error,
            max_attempts=self.work.settings.ingest_max_attempts,
            backoff_s=self.backoff_s,
        )
        more = {"keeps_text": True} if isinstance(error, CostLimitReached) else {}
        fail = partial(self.work.store.ledger.fail, claim, cause, retry_in_s=in_s, **more)
        if await self.work.retry.call(fail):
            self.watchers.tell(PageDone(claim, "failed", cause))

    async def _outage(self, claim: Claim, error: Exception) -> list[str]:
        """Return the causes outside of the page, empty when the page itself failed."""
        if (host := failed_host(claim, error)) is not None:
            has_answered = getattr(error, "status", None) is not None
            return [host_cause(host)] if has_answered else self.network.fail(host)
        if is_model_unavailable(error):
            fingerprint = await self.work.retry.call(self.work.embedders.fingerprint, claim.scope)
            return [embedder_cause(fingerprint)] if fingerprint else []
        return []

    async def _settle_causes(
        self, claim: Claim, error: Exception | None, *, has_embedded: bool
    ) -> None:
        """End the pauses of causes that work again."""
        has_answer = reached_host(claim, error)
        if has_answer:
            self.network.answer()
        if not claim.probes:
            return
        working = {NETWORK, host_cause(netloc(claim.url))} if has_answer else set()
        if has_embedded:
            working |= {one for one in claim.probes if one.startswith(embedder_cause(""))}
        await self.work.retry.call(
            self.work.store.ledger.resume, claim, sorted(working & {*claim.probes})
        )
