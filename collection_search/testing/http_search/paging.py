"""Contract for the number of requests of a search."""

from __future__ import annotations

import math

from ...ports.description import describe
from ..providers.sample_index import find_hits
from .base import HttpContract


class PagingContract(HttpContract):
    """As few requests as the vendor's pages allow, each row once, all of them counted."""

    def test_further_pages_are_fetched_if_asked_for(self) -> None:
        """Each row comes once and in order, for as few requests as the vendor's pages allow."""
        response = self._search(max_results=25)
        reach = min(25, self.running.dialect.reach)
        ranks = self._ranks(self._urls(response))
        assert len(self._urls(response)) <= reach
        assert ranks == [
            n
            for n in range(1, ranks[-1] + 1)
            if n in ranks or n not in self.running.dialect.without_text
        ]
        assert len(ranks) >= reach - 1
        per_request = self.running.dialect.rows_asked(self.running.requests[0])
        assert len(self.running.requests) == math.ceil(reach / per_request)
        assert response.request_count == len(self.running.requests)

    def test_one_page_is_one_request(self) -> None:
        """As many rows as the adapter calls a page cost one request."""
        size = describe(self.adapter()).info.page_size or 10
        response = self._search("python", max_results=size)
        assert (len(self.running.requests), response.request_count) == (1, 1)
        assert size - 1 <= len(response.results) <= size

    def test_the_end_of_the_rows_ends_the_search(self) -> None:
        """Seven hits need one request, or two where the vendor does not say that these are all."""
        response = self._search("sqlite", max_results=25)
        assert len(self._ranks(self._urls(response))) in {
            7,
            7 - len(self.running.dialect.without_text),
        }
        assert len(self.running.requests) <= 1 + (not self.running.dialect.knows_the_end)
        assert response.request_count == len(self.running.requests)

    def test_no_more_is_asked_than_the_vendor_gives(self) -> None:
        """A number of rows past the vendor's last page is no error."""
        response = self._search("python", max_results=300)
        most = min(len(find_hits("python")), self.running.dialect.reach)
        assert min(most, 100) - 1 <= len(self._ranks(self._urls(response))) <= most
        assert self.running.refused == []
        assert response.request_count == len(self.running.requests)

    def test_a_failing_further_page_leaves_what_was_found(self) -> None:
        """The rows of the pages before are returned, with a notice of the missing one."""
        self._search(max_results=25)
        if len(self.running.requests) > 1:
            self.running.requests.clear()
            self.running.fail("server_error", after=1)
            response = self._search(max_results=25)
            assert response.results
            assert response.notices
            assert response.request_count == len(self.running.requests)

    def test_nothing_found_costs_one_request(self) -> None:
        """An unknown query is asked once."""
        assert self._search(self.unknown_query).request_count == 1
        assert len(self.running.requests) == 1
