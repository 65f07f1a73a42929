"""The questions of a collection, which a refresh asks again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import QuestionRecord
from ....text.clean import to_unicode
from .documents import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .connection import Connection, Row

_TIMES: Final = {"first_asked_at", "last_asked_at"}


def remember_question(
    connection: Connection, collection: int, record: QuestionRecord, now: float
) -> None:
    """Store a question, or its new result, with the times it was asked.

    Pages that were deleted stay so, but for those that the question has brought again.
    """
    if before := find_question(connection, collection, record.question):
        removed = [key for key in before.removed if key not in record.url_keys]
        record = record.model_copy(update={"removed": removed})
    of = {"collection": collection, "question": to_unicode(record.question), "now": now}
    connection.execute(
        "INSERT INTO questions (collection_id, question, record, first_asked_at, last_asked_at)"
        " VALUES (:collection, :question, :record, :now, :now)"
        " ON CONFLICT (collection_id, question) DO UPDATE SET"
        " record = excluded.record, last_asked_at = excluded.last_asked_at",
        of | {"record": _to_json(record)},
    )


def refresh_question(
    connection: Connection,
    collection: int | None,
    record: QuestionRecord,
    now: float,
    *,
    asked_at: float,
) -> bool:
    """Store the new result of a question, unless it was forgotten or asked anew since then."""
    before = find_question(connection, collection, record.question)
    if before is None or before.last_asked_at != asked_at:
        return False
    kept = _with_choices(record, before)
    _update(connection, collection, kept.model_copy(update={"last_asked_at": now}))
    return True


def amend_question(
    connection: Connection, collection: int | None, question: str, facts: Mapping[str, Any]
) -> bool:
    """Store these fields of a question beside the others; False when it is not known."""
    if (before := find_question(connection, collection, question)) is None:
        return False
    _update(connection, collection, before.model_copy(update=dict(facts)))
    return True


def find_question(
    connection: Connection, collection: int | None, question: str
) -> QuestionRecord | None:
    """Return a question, or None."""
    found = connection.execute(
        "SELECT * FROM questions WHERE collection_id = ? AND question = ?",
        (collection, to_unicode(question)),
    ).fetchone()
    return _read(found) if found else None


def list_questions(connection: Connection, collection: int | None) -> list[QuestionRecord]:
    """Return the questions, the first asked first."""
    rows = connection.execute(
        "SELECT * FROM questions WHERE collection_id = ? ORDER BY first_asked_at, id",
        (collection,),
    )
    return [_read(row) for row in rows]


def forget_question(connection: Connection, collection: int | None, question: str) -> bool:
    """Delete a question; False when it is not known."""
    connection.enable_secure_delete()
    statement = "DELETE FROM questions WHERE collection_id = ? AND question = ?"
    return connection.execute(statement, (collection, to_unicode(question))).rowcount > 0


def _with_choices(record: QuestionRecord, before: QuestionRecord) -> QuestionRecord:
    """Return the new result without what a deletion or a review since then has excluded.

    A question that was reviewed since then keeps its own result.
    """
    is_other = before.is_reviewed is not None and before.is_reviewed != bool(record.is_reviewed)
    kept = before if is_other else record
    keys = kept.url_keys
    if kept.is_reviewed:
        approved = dict.fromkeys(key for key in keys if key in before.url_keys)
        keys = list(approved | dict.fromkeys(before.url_keys))
    left = [key for key in keys if key not in before.removed]
    return kept.model_copy(update={"url_keys": left, "removed": before.removed})


def _update(connection: Connection, collection: int | None, record: QuestionRecord) -> None:
    of = {"collection": collection, "question": to_unicode(record.question)}
    connection.execute(
        "UPDATE questions SET record = :record, last_asked_at = :asked"
        " WHERE collection_id = :collection AND question = :question",
        of | {"record": _to_json(record), "asked": record.last_asked_at},
    )


def _read(row: Row) -> QuestionRecord:
    times = {name: row[name] for name in _TIMES}
    return QuestionRecord(**(json.loads(row["record"]) | times))


def _to_json(record: QuestionRecord) -> str:
    return to_json(record.model_dump(mode="json", exclude=_TIMES))
