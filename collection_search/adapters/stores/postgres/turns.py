"""The next host in turn, asked for in the way of PostgreSQL."""

from __future__ import annotations

from functools import partial
from typing import Final

from ..sql.turns import HOST_IS_FREE, QUEUE, ROW_IS_FREE, next_row

_FIRST_HOST: Final = f"""
    SELECT min(host) AS host FROM ledger
    WHERE state = wanted.value AND priority = :priority AND collection_id = queue.collection_id
        AND due <= :now AND {HOST_IS_FREE} AND {ROW_IS_FREE}"""
_NEXT_HOST: Final = f"""
    WITH RECURSIVE {QUEUE}
    SELECT collection_id, next.host FROM queue CROSS JOIN LATERAL (
        SELECT coalesce(min(after.host), min(any_one.host)) AS host
        FROM json_values(:states) AS wanted
        CROSS JOIN LATERAL ({_FIRST_HOST} AND host > queue.last_host) AS after
        CROSS JOIN LATERAL ({_FIRST_HOST}) AS any_one
    ) AS next
    WHERE next.host IS NOT NULL LIMIT 1
"""
"""The same as in SQLite; the index `ledger_by_turn` has the rows in the order of their hosts."""

next_row_in_turn = partial(next_row, next_host=_NEXT_HOST)
"""Returns the id of the row whose turn it is: `sql.turns.next_row`."""
