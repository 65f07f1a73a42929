"""Errors as answers: in our form on our paths, in the host's form on all others."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from collection_search.server.problems import answer_problems


@pytest.mark.parametrize(
    ("path", "key"), [("/app/api/nothing", "error"), ("/threads/nothing", "detail")]
)
def test_a_path_that_nobody_has(path: str, key: str) -> None:
    """The app of a LangGraph server has further paths, and their clients read its own form."""
    app = FastAPI()
    answer_problems(app)
    answer = TestClient(app).get(path)
    assert answer.status_code == 404
    assert list(answer.json()) == [key]
