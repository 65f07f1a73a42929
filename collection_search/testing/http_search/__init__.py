"""The contract that every search adapter keeps that talks HTTP to a vendor."""

from __future__ import annotations

from .connections import ConnectionContract
from .failures import FailureContract
from .options import OptionsContract
from .paging import PagingContract
from .results import ResultsContract

__all__ = ["HttpSearchAdapterContract"]


class HttpSearchAdapterContract(
    ResultsContract, PagingContract, FailureContract, ConnectionContract, OptionsContract
):
    """Mapping, paging, options, failures, retries and secrets, against a double of the vendor.

    The adapter has `search` and `asearch` with `max_results`, `timeout` and perhaps `options`. The
    suite contains `SearchAdapterContract`.

    ```python
    class TestMyAdapter(HttpSearchAdapterContract):
        def server(self):
            return ProviderServer(MyDialect())

        def adapter_for(self, server):
            return MyAdapter(api_key=server.dialect.key, base_url=server.base_url)
    ```
    """
