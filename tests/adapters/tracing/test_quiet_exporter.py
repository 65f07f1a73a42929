"""What the exporter of spans says when a server takes none."""

from __future__ import annotations

import base64
import logging
from typing import TYPE_CHECKING

from collection_search.adapters.tracing.quiet_exporter import QuietExporter

if TYPE_CHECKING:
    import pytest

SECRET = "open-sesame"


def test_a_server_that_repeats_the_secret_does_not_bring_it_into_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither as it is nor as basic authentication has it."""
    login = base64.b64encode(f"pk:{SECRET}".encode()).decode()
    exporter = QuietExporter("http://127.0.0.1:9/v1/traces", secret=SECRET)
    with caplog.at_level(logging.WARNING):
        exporter.report(f"401, {SECRET} is unknown, you sent {login}")
    exporter.shutdown()
    assert "[secret] is unknown" in caplog.text
    assert SECRET not in caplog.text
    assert login not in caplog.text
