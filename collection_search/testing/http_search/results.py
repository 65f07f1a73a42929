"""Contract for rows and for answers that are partly wrong."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pytest

from ...errors import SearchProviderBadResponse, SearchProviderError
from ...tools.web_search import WebSearchWorker
from ..providers.sample_index import find_hits
from ..providers.wire import Reply
from .base import HttpContract

if TYPE_CHECKING:
    from datetime import date

_ODD: Final[tuple[Any, ...]] = (None, True, -1, 1e308, "", "\ud83d", "x" * 70_000, [], {}, ["x"])


def _day(time: str) -> date:
    return datetime.fromisoformat(time).date()


class ResultsContract(HttpContract):
    """Mapping of rows, the query on its way, and every field that may be something else."""

    def test_rows_are_mapped(self) -> None:
        """Addresses, order, plain texts and ISO dates arrive; markup and line breaks do not."""
        results = self._run(WebSearchWorker(self.adapter())).results
        pages = find_hits(self.query)[:10]
        assert self._ranks([result.url for result in results]) in (
            [page.number for page in pages],
            [page.number for page in pages if page.number not in self.running.dialect.without_text],
        )
        for result in results:
            page = pages[self._ranks([result.url])[0] - 1]
            assert result.title == page.title
            assert (
                page.snippet in result.snippet or page.number in self.running.dialect.without_text
            )
            assert result.is_pdf == ("mime" in self.running.dialect.row(page))
            assert (
                result.published_date is None
                or _day(result.published_date) == page.published.date()
            )

    def test_markup_is_taken_out_once(self) -> None:
        """Tags are removed; escaped tags in the text stay."""
        if self.running.dialect.sends_html:
            results = self._run(WebSearchWorker(self.adapter()), "markup").results
            assert [result.snippet for result in results] == [find_hits("markup")[0].snippet]

    def test_the_query_arrives_as_it_is(self) -> None:
        """Characters with a meaning in an address or in JSON are part of the query."""
        query = 'größe & "100 %" + asyncio #1 = a/b?'
        assert self._search(query).results
        assert self._queries() == [query]

    @pytest.mark.parametrize("words", ["asyncio ", "täsk-group and await ", "x", "ü"])
    def test_a_long_query_is_cut_between_words(self, words: str) -> None:
        """What the vendor's limit allows is sent; a cut is at the end of a word where one is."""
        query = (words * 1_000).strip()
        response = self._search(query)
        dialect, sent = self.running.dialect, self._queries()[0]
        assert response.status_code // 100 == 2  # noqa: PLR2004
        assert query.startswith(sent)
        assert sent == query or " " not in query or query[len(sent)] == " "
        assert len(sent) > min(len(query), dialect.max_query_chars) // 3

    def test_the_key_is_in_no_address(self) -> None:
        """Servers and proxies log addresses; only vendors that need it get the key there."""
        self._search()
        request = self.running.requests[0]
        if not self.running.dialect.key_in_query:
            self._assert_no_key(request.target, request.body)

    def test_odd_fields_lose_their_row_at_most(self) -> None:
        """Null, missing, wrong and additional fields raise nothing; good rows are returned."""
        dialect, page = self.running.dialect, find_hits(self.query)[0]
        good = dialect.row(page)
        others = map(dialect.row, find_hits("python"))
        odd = [*_ODD, *(next(others) | {name: value} for name in good for value in _ODD)]
        odd += [
            {key: row[key] for key in row if key != name}
            for name, row in zip(good, others, strict=False)
        ]
        for start in range(0, len(odd), 8):
            rows = [*odd[start : start + 8], good | {"of_tomorrow": {"new": [1]}}]
            self.running.reply(Reply.of_json(dialect.envelope(rows)))
            assert self._ranks(self._urls(self._search())[-1:]) == [page.number]
            response = self._run(WebSearchWorker(self.adapter()))
            assert response.results
            assert response.model_dump_json()

    @pytest.mark.parametrize("rows", _ODD)
    def test_odd_rows_are_a_bad_response_or_none(self, rows: Any) -> None:
        """A value that is no list of rows gives no results or a typed error."""
        self.running.reply(Reply.of_json(self.running.dialect.envelope(rows)))
        with suppress(SearchProviderBadResponse):
            assert not self._search().results

    def test_rows_without_an_address_are_no_empty_web(self) -> None:
        """Where no row has an address the answer is a bad one: nothing is known of the web."""
        rows: list[Any] = [{}, {"of_tomorrow": {"new": [1]}}]
        self.running.reply(Reply.of_json(self.running.dialect.envelope(rows)))
        error = self._error()
        assert isinstance(error, SearchProviderBadResponse)
        assert (error.code, error.retryable) == ("unknown", False)

    def test_every_odd_part_of_the_answer_is_survived(self) -> None:
        """Any field of the answer may have another type."""
        dialect = self.running.dialect
        frame = dialect.envelope([dialect.row(find_hits(self.query)[0])])
        for name in frame:
            for value in _ODD:
                self.running.reply(Reply.of_json(frame | {name: value}))
                with suppress(SearchProviderError):
                    self._search(max_results=1)

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_a_byte_order_mark_is_read(self, encoding: str) -> None:
        """JSON of servers that put a mark before it, or use two bytes a character."""
        rows = [self.running.dialect.row(find_hits(self.query)[0])]
        reply = Reply.of_json(self.running.dialect.envelope(rows))
        body = reply.body.decode().encode(encoding)
        self.running.reply(Reply(200, body, reply.headers))
        assert len(self._search(max_results=1).results) == 1
