"""Contract for failures, attempts, waiting times and secrets."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from typing import TYPE_CHECKING, Final

import pytest

from ...errors import SearchProviderError
from ..clock import FakeClock
from ..providers.faults import ENDLESS, RETRY_AFTER
from ..tracing import RecordingSink
from .base import IMPATIENCE_S, PATIENCE_S, HttpContract

if TYPE_CHECKING:
    from ..providers.faults import RetryAfterForm
    from ..providers.wire import ExpectedError

_DEADLINE_MS: Final = 60_000
"""Of a worker with its usual settings."""


class FailureContract(HttpContract):
    """Each failure of the double becomes its expected error, after the expected attempts."""

    def test_a_failure_is_a_typed_error(
        self, failure: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Class, code, waiting time and status are as expected, blocking and asynchronous."""
        caplog.set_level(logging.DEBUG)
        scripted = self.running.fail(failure)
        timeout = IMPATIENCE_S if failure in ENDLESS else PATIENCE_S
        errors = [self._error(timeout=timeout), asyncio.run(self._aerror(timeout=timeout))]
        for error in errors:
            _assert_expected(error, scripted.expected)
            self._assert_no_key(*traceback.format_exception(error), repr(error))
        assert str(errors[0]) == str(errors[1])
        self._assert_no_key(caplog.text, [vars(record) for record in caplog.records])

    @pytest.mark.parametrize("method", ["run", "arun"])
    def test_the_worker_retries_as_the_failure_allows(
        self, failure: str, method: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Attempts and waiting times are as expected, and no secret is revealed."""
        caplog.set_level(logging.DEBUG)
        expected = self.running.fail(failure).expected
        clock, spans = FakeClock(), RecordingSink()
        limit = IMPATIENCE_S if failure in ENDLESS else PATIENCE_S
        response = self._run(self._worker(clock, spans, limit), method=method)
        meta = response.outcome.meta
        error = meta["error"]
        assert clock.slept == list(expected.waits_s)
        assert meta["attempts"] == expected.attempts
        assert failure in ENDLESS or len(self.running.requests) == expected.attempts
        assert (error["kind"], error["code"], error["http_status"]) == (
            expected.error.__name__,
            expected.code,
            expected.http_status,
        )
        assert spans.spans[0].failure is not None
        spans_seen = [(span.fields, span.failure) for span in spans.spans]
        self._assert_no_key(response.model_dump_json(), spans_seen, caplog.text)
        self._assert_no_key([vars(record) for record in caplog.records])

    def test_a_failure_that_passes_is_survived(self, gateway_failure: str) -> None:
        """The answer of a later attempt counts."""
        expected = self.running.fail(gateway_failure, times=1).expected
        response = self._run(self._worker(FakeClock(), RecordingSink()))
        assert (response.outcome.decision == "ok") == (expected.attempts > 1)

    @pytest.mark.parametrize("failure_with_a_hint", ["too_many_requests", "overloaded"])
    def test_retry_after_is_understood(self, failure_with_a_hint: str, form: str) -> None:
        """Every form of the header is read; a wait past the deadline ends the search at once."""
        header = RETRY_AFTER[form]
        reply = self.running.failures[failure_with_a_hint].reply
        self.running.reply(reply.having(Retry_After=header.value(time.time())))
        error = self._error()
        assert isinstance(error, SearchProviderError)
        assert _is_within(error.retry_in_ms, header)
        clock = FakeClock()
        self._run(self._worker(clock, RecordingSink()))
        if header.at_least_ms is None:
            assert clock.slept == [0.6, 1.2]
        elif header.at_least_ms > _DEADLINE_MS:
            assert clock.slept == []
        else:
            assert len(clock.slept) == 2  # noqa: PLR2004
            assert all(_is_within(round(1000 * seconds), header) for seconds in clock.slept)


def _assert_expected(error: BaseException, expected: ExpectedError) -> None:
    assert type(error) is expected.error, error
    assert isinstance(error, SearchProviderError)
    assert (error.code, error.retryable) == (expected.code, expected.retryable)
    assert error.http_status == expected.http_status
    assert error.retry_in_ms == expected.retry_in_ms
    assert expected.names in str(error)
    assert str(error)


def _is_within(milliseconds: int | None, form: RetryAfterForm) -> bool:
    if form.at_least_ms is None or form.at_most_ms is None or milliseconds is None:
        return milliseconds == form.at_least_ms
    return form.at_least_ms <= milliseconds <= form.at_most_ms
