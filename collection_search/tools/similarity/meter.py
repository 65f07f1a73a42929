"""Measures similarities by all embedders of a run at the same time, each under the cost limit."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ...contracts.collection import model_of
from ...contracts.prices import tokens_in
from ...errors import CostLimitReached
from ...ranking.calibration import await_calibration, known_scale
from ...ranking.scoring import LEXICAL
from ...runtime.failure_log import log_failure
from ...text.redaction import error_message
from ..spending.booked_call import CallUsage, book_usage, usage_of_failure
from ..spending.paid_embedder import PaidEmbedder
from ..spending.paid_scale import start_paid_scale
from .compared_texts import ComparedTexts, compare_all, find_known
from .model_similarity import ModelSimilarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import SearchContext
    from ...ports import Embedder, Listener, Span, SpanSink
    from ..spending.account import Account

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """What one embedder will be asked for."""

    embedder: Embedder
    texts: ComparedTexts
    price_usd: float | None
    """Its price as far as it can be known before; None for a model without a price."""
    refusal: str = ""
    """Why it is not asked: the model is known not to tell in the question's language."""

    @property
    def is_sent(self) -> bool:
        """True when there are texts to embed."""
        return not self.refusal and bool(self.texts.new)


@dataclass(frozen=True, slots=True)
class SimilarityMeter:
    """The parts of a stage with which it measures similarities."""

    context: SearchContext
    account: Account
    listener: Listener
    sink: SpanSink
    span: Span
    """Gets the usage of a single embedder; several have an observation each."""

    async def prepare(
        self, texts: Sequence[str], embedders: Sequence[Embedder]
    ) -> list[EmbeddingRequest]:
        """Return the request of each embedder; the first of the `texts` is the question."""
        return await asyncio.gather(*(self._prepared(texts, each) for each in embedders))

    async def measure(self, requests: Sequence[EmbeddingRequest]) -> list[ModelSimilarity]:
        """Return the similarities by each embedder; one that fails leaves the others."""
        too_dear = [self._reserve(each) for each in requests]
        return await asyncio.gather(
            *(
                self._observed(request, error, is_alone=len(requests) == 1)
                for request, error in zip(requests, too_dear, strict=True)
            )
        )

    async def _prepared(self, texts: Sequence[str], embedder: Embedder) -> EmbeddingRequest:
        name = embedder.fingerprint
        if not self._is_literal and self.context.cassette is None:  # a cassette holds every call
            home = self.context.using().home
            scale = await known_scale(name, folder=home)
            if scale and (refusal := scale.refusal(texts[0])):
                return EmbeddingRequest(embedder, ComparedTexts(texts), 0.0, refusal)
        known = await find_known(texts, embedder, context=self.context, account=self.account)
        price: float | None = 0.0
        if known.new:
            price = self.account.prices.embedding_cost(name, tokens_in(known.new))
        return EmbeddingRequest(embedder, known, price)

    @property
    def _is_literal(self) -> bool:
        return self.context.profile() == "literal"

    def _reserve(self, request: EmbeddingRequest) -> CostLimitReached | None:
        """Reserve the price; return the error where the ceiling does not allow the call."""
        try:
            name = request.embedder.fingerprint
            self.account.budget.reserve(request.price_usd, "embedding", name)
        except CostLimitReached as error:
            return error
        return None

    async def _observed(
        self, request: EmbeddingRequest, too_dear: CostLimitReached | None, *, is_alone: bool
    ) -> ModelSimilarity:
        name = request.embedder.fingerprint
        if request.refusal:
            return ModelSimilarity(name, calibration=replace(LEXICAL, reason=request.refusal))
        if too_dear:
            if is_alone:
                self.span.fail(type(too_dear).__name__, str(too_dear))
            return ModelSimilarity(name, error=str(too_dear))
        if is_alone:
            return await self._measured(request, self.span)
        with self.sink.span("embedding", kind="embedding") as span:
            span.set({"embedder": name, "input_count": len(request.texts.new)})
            return await self._measured(request, span)

    async def _measured(self, request: EmbeddingRequest, span: Span) -> ModelSimilarity:
        """Embed the texts in one request, and at first use the anchors meanwhile."""
        embedder, texts = request.embedder, request.texts
        anchors, scale = PaidEmbedder(embedder, self.account), None
        if not self._is_literal:
            scale = start_paid_scale(anchors, self.context)
        try:
            found = await self._compared(request, span)
        except asyncio.CancelledError:
            self._book_unanswered(request, span)
            raise
        name, price = embedder.fingerprint, request.price_usd
        if request.is_sent:
            usage = CallUsage(name, found.input_tokens, None, found.cost_usd)
            book_usage(usage, "embedding", self.account, reserved_usd=price)
        else:
            self.account.record_saved("embedding", name)
        if scale is not None and found.error:
            await asyncio.wait([scale])  # the run may pay for it all the same
        elif scale is not None:
            size = found.dimension
            calibration = await await_calibration(
                scale,
                texts.all[0],
                dimension=size,
                again=partial(start_paid_scale, anchors, self.context, dimension=size),
            )
            failure = scale.exception() if calibration is LEXICAL else None
            error = error_message(failure) if failure else None
            if failure is not None:
                span.fail(type(failure).__name__, error or "")
            found = replace(found, calibration=calibration, error=error)
        found = found.with_anchors(anchors.input_tokens, anchors.cost_usd)
        tokens, cost = found.input_tokens, found.cost_usd
        span.usage(model=model_of(name), input_tokens=tokens, output_tokens=None, cost_usd=cost)
        return found

    def _book_unanswered(self, request: EmbeddingRequest, span: Span) -> None:
        """Book a request whose answer nobody waits for any more: it may be billed all the same."""
        if request.is_sent:
            name = request.embedder.fingerprint
            usage = CallUsage(name, cost_usd=self.account.prices.embedding_cost(name, None))
            price = request.price_usd
            book_usage(usage, "embedding", self.account, reserved_usd=price, span=span)

    async def _compared(self, request: EmbeddingRequest, span: Span) -> ModelSimilarity:
        """Return the similarities of the texts to the first one, or the cause of a failure."""
        texts, name = request.texts, request.embedder.fingerprint
        is_sent, prices = request.is_sent, self.account.prices
        try:
            cosines, input_tokens, dimension = await compare_all(
                texts, request.embedder, account=self.account, listener=self.listener
            )
        except Exception as error:  # noqa: BLE001 - it is logged
            log_failure(logger, f"no similarity by {name}", error)
            spent = usage_of_failure(error, "embedding", name, prices)
            message = error_message(error)
            span.fail(type(error).__name__, message)
            return ModelSimilarity(
                name,
                [math.nan] * (len(texts.all) - 1),
                input_tokens=spent.input_tokens,
                cost_usd=spent.cost_usd,
                error=message,
            )
        return ModelSimilarity(
            name,
            cosines,
            input_tokens=input_tokens,
            cost_usd=prices.embedding_cost(name, input_tokens) if is_sent else 0.0,
            known=texts.known_count,
            dimension=dimension,
        )
