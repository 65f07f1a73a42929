"""The questions of a collection, which a refresh asks again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....contracts.collection import QuestionRecord
from ....text.clean import to_unicode
from .documents import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .connection import Connection

_TIMES: Final = {"first_asked_at", "last_asked_at"}
_FIND: Final = """
    SELECT record FROM questions WHERE collection_id = :collection AND question = :question
"""


def remember_question(
    connection: Connection,
    collection: int,
    record: QuestionRecord,
    now: float,
    *,
    keeps_choices: bool,
) -> None:
    """Store a question, or its new result, with the times it was asked.

    Pages that were deleted stay so, but for those that somebody's question has brought again.
    """
    of = {"collection": collection, "question": to_unicode(record.question), "now": now}
    if before := _find(connection, of):
        if keeps_choices:
            record = _with_choices(record, before)
        else:
            removed = [key for key in before.removed if key not in record.url_keys]
            record = record.model_copy(update={"removed": removed})
    connection.execute(
        "INSERT INTO questions (collection_id, question, record, first_asked_at, last_asked_at)"
        " VALUES (:collection, :question, :record, :now, :now)"
        " ON CONFLICT (collection_id, question) DO UPDATE SET"
        " record = excluded.record, last_asked_at = excluded.last_asked_at",
        of | {"record": _to_json(record)},
    )


def _with_choices(record: QuestionRecord, before: QuestionRecord) -> QuestionRecord:
    """Return the new result without what a deletion or a review since then has excluded.

    A question that was reviewed since then, or asked anew without a review, keeps its own result.
    """
    is_other = before.is_reviewed is not None and before.is_reviewed != bool(record.is_reviewed)
    kept = before if is_other else record
    keys = kept.url_keys
    if kept.is_reviewed:
        approved = dict.fromkeys(key for key in keys if key in before.url_keys)
        keys = list(approved | dict.fromkeys(before.url_keys))
    left = [key for key in keys if key not in before.removed]
    return kept.model_copy(update={"url_keys": left, "removed": before.removed})


def amend_question(
    connection: Connection, collection: int | None, question: str, facts: Mapping[str, Any]
) -> bool:
    """Store these fields of a question beside the others; False when it is not known."""
    of = {"collection": collection, "question": to_unicode(question)}
    if (before := _find(connection, of)) is None:
        return False
    record = before.model_copy(update=dict(facts))
    connection.execute(
        "UPDATE questions SET record = :record"
        " WHERE collection_id = :collection AND question = :question",
        of | {"record": _to_json(record)},
    )
    return True


def _find(connection: Connection, of: Mapping[str, Any]) -> QuestionRecord | None:
    """Return what is stored of a question, without its times."""
    found = connection.execute(_FIND, of).fetchone()
    return QuestionRecord(**json.loads(found["record"])) if found else None


def _to_json(record: QuestionRecord) -> str:
    return to_json(record.model_dump(mode="json", exclude=_TIMES))


def list_questions(connection: Connection, collection: int | None) -> list[QuestionRecord]:
    """Return the questions, the first asked first."""
    rows = connection.execute(
        "SELECT * FROM questions WHERE collection_id = ? ORDER BY first_asked_at, id",
        (collection,),
    )
    return [
        QuestionRecord(**(json.loads(row["record"]) | {name: row[name] for name in _TIMES}))
        for row in rows
    ]


def forget_question(connection: Connection, collection: int | None, question: str) -> bool:
    """Delete a question; False when it is not known."""
    connection.enable_secure_delete()
    statement = "DELETE FROM questions WHERE collection_id = ? AND question = ?"
    return connection.execute(statement, (collection, to_unicode(question))).rowcount > 0
