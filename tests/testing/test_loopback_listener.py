"""What all local doubles of servers have in common."""

from __future__ import annotations

import http.client
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from collection_search.testing import OpenAIServer, OtlpServer, ProviderServer


@pytest.mark.parametrize("make", [OtlpServer, OpenAIServer, lambda: ProviderServer("tavily")])
def test_a_stopped_server_answers_on_no_connection(make) -> None:
    """One that was kept alive is closed: its port may be another server's by now."""
    with ExitStack() as kept_alive:
        with make() as server:
            client = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=30)
            kept_alive.callback(client.close)
            client.request("GET", "/v1/models")
            client.getresponse().read()
            connection = client.sock
            assert connection is not None
        assert connection.recv(1) == b""
