"""From port values to JSON and back, with nothing lost that a caller would look at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from collection_search import errors
from collection_search.cassette.chats import chat_answer, read_chat_answer
from collection_search.cassette.codec import (
    embedded_answer,
    failure,
    plan_answer,
    read_embedded_answer,
    read_failure,
    read_plan_answer,
    read_search_answer,
    search_answer,
    to_plain,
)
from collection_search.cassette.judging import judgements_answer, read_judgements_answer
from collection_search.contracts.collection import Embedded
from collection_search.contracts.search import ProviderSearchResult, SearchAdapterResponse
from collection_search.errors import (
    InputError,
    ModelError,
    SearchProviderError,
    SearchProviderQuotaExceeded,
)
from collection_search.ports import ChatReply, Judgement, Judgements, QueryPlan
from collection_search.testing import rows
from collection_search.tools.web_search import WebSearchWorker

SEARCH_ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SearchProviderError)
]


def through_json(told: Any) -> Any:
    return json.loads(json.dumps(told, allow_nan=False))


def response(**more: Any) -> SearchAdapterResponse:
    return SearchAdapterResponse(results=rows(2), status_code=200, **more)


# --- searches


def test_a_response_comes_back_whole() -> None:
    """Every field, those that an adapter seldom fills too."""
    full = ProviderSearchResult(
        url="https://a.example/",
        title="A",
        snippet="<b>a</b>",
        source="a.example",
        score=0.25,
        content_type="text/html",
        content="a" * 9,
        published_date="2026-01-01",
    )
    given = SearchAdapterResponse(
        results=[full, *rows(1)],
        status_code=206,
        raw_results=[{"id": 1, "nested": [{"x": None}]}],
        quota_remaining=7,
        request_count=2,
        credits=4.0,
        cost_usd=0.016,
        notices=["Only 1 of 2 pages could be read."],
        applied={"topic": "native"},
    )
    assert read_search_answer(through_json(search_answer(given))) == given


def test_a_new_field_travels_by_itself() -> None:
    """What the port gains later needs no change here; what another version wrote is ignored."""

    @dataclass
    class Later(SearchAdapterResponse):
        cached: bool = False
        """A field of its own."""

    told = through_json(search_answer(Later(results=rows(1), status_code=200, cached=True)))
    assert told["cached"] is True
    assert read_search_answer(told).results == rows(1)


@pytest.mark.parametrize(
    "row",
    [
        {"url": "https://a.example/", "snippet": "s", "title": None},
        SimpleNamespace(url="https://a.example/", snippet="s", score=float("nan")),
        ProviderSearchResult("https://a.example/", "t", "s", "a", score=float("inf")),
        ProviderSearchResult("https://a.example/", b"bytes", "s", HTTPStatus.OK),  # type: ignore[arg-type]
    ],
)
def test_what_the_worker_makes_of_a_foreign_row_stays_the_same(row: Any) -> None:
    """Third parties give mappings, objects, and values of other types."""
    given = SearchAdapterResponse(results=[row], status_code=HTTPStatus.OK)
    played = read_search_answer(through_json(search_answer(given)))
    told = [_told(answer) for answer in (given, played)]
    assert told[0] == told[1]
    assert len(told[0]["results"]) == 1


def _told(answer: SearchAdapterResponse) -> Any:
    from collection_search.testing import ScriptedAdapter, example_context

    response = WebSearchWorker(ScriptedAdapter(answer)).run(query="a", context=example_context())
    return response.model_dump(include={"results"})


def test_an_answer_that_is_written_down_stays_readable() -> None:
    """Files hold answers as they were written: with odd values of third parties, and without."""
    written = (
        '{"results": [{"url": "https://a.example/", "title": null, "snippet": "s", "source": 200,'
        ' "score": 1}], "status_code": 200, "raw_results": [{}], "notices": ["n"], "later": true,'
        ' "applied": {"topic": "native"}, "cost_usd": 0.008, "request_count": 2}'
    )
    row = ProviderSearchResult("https://a.example/", None, "s", 200, score=1)  # type: ignore[arg-type]
    assert read_search_answer(json.loads(written)) == SearchAdapterResponse(
        results=[row],
        status_code=200,
        raw_results=[{}],
        request_count=2,
        cost_usd=0.008,
        notices=["n"],
        applied={"topic": "native"},
    )


@pytest.mark.parametrize("answer", [None, {"results": []}, [], response().results, "text"])
def test_what_is_no_response_is_refused(answer: Any) -> None:
    """An adapter without a response of the port has nothing to record."""
    with pytest.raises(InputError, match="instead of a SearchAdapterResponse"):
        search_answer(answer)
    with pytest.raises(InputError, match="instead of a SearchAdapterResponse"):
        search_answer(SearchAdapterResponse(results=answer, status_code="200"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ([], "the answer is no JSON object"),
        ({"status_code": 200}, "the answer has no results"),
        ({"results": []}, "the answer has no status_code"),
        ({"results": [], "status_code": "200"}, "status_code of the answer is no whole number"),
        ({"results": {}, "status_code": 200}, "results of the answer has the wrong form"),
        ({"results": [1], "status_code": 200}, "a result is no JSON object"),
        ({"results": [{"url": "u"}], "status_code": 200}, "a result has no title"),
        ({"results": [], "status_code": 200, "notices": "one"}, "notices of the answer"),
        ({"results": [], "status_code": 200, "applied": ["a"]}, "applied of the answer"),
        ({"results": [], "status_code": 200, "request_count": []}, "request_count of the answer"),
    ],
)
def test_a_damaged_answer_says_what_is_wrong(damage: Any, problem: str) -> None:
    """One InputError, whatever the damage."""
    with pytest.raises(InputError, match=problem):
        read_search_answer(damage)


def test_what_json_has_not_is_left_out() -> None:
    """Numbers without a value, bytes, objects, and what holds itself."""
    knot: dict[str, Any] = {}
    knot["knot"] = knot
    told = to_plain({"nan": float("nan"), "huge": 10**999, "bytes": b"x", "set": {1}, "knot": knot})
    assert through_json(told)
    assert told | {"knot": 0} == {"nan": None, "huge": None, "bytes": None, "set": [1], "knot": 0}


# --- plans


def test_a_plan_comes_back_whole() -> None:
    """Queries, model and tokens; the latter may be unknown."""
    for plan in (QueryPlan(["a", "b"], "m", 29, 44), QueryPlan([], "m")):
        assert read_plan_answer(through_json(plan_answer(plan))) == plan


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ({"queries": ["a"]}, "the plan has no model"),
        ({"queries": "a", "model": "m"}, "no list of texts"),
        ({"queries": [1], "model": "m"}, "no list of texts"),
        ({"queries": [], "model": 1}, "no text"),
        ({"queries": [], "model": "m", "input_tokens": "29"}, "input_tokens"),
    ],
)
def test_a_damaged_plan_says_what_is_wrong(damage: Any, problem: str) -> None:
    """One InputError, whatever the damage."""
    with pytest.raises(InputError, match=problem):
        read_plan_answer(damage)


def test_what_is_no_plan_is_refused() -> None:
    """A host's own model may return anything."""
    with pytest.raises(InputError, match="NoneType came instead of a QueryPlan"):
        plan_answer(None)


# --- vectors


@pytest.mark.parametrize("shape", [(3, 4), (0, 8), (1, 1)])
def test_vectors_come_back_to_the_last_bit(shape: tuple[int, int]) -> None:
    """In order, in any byte order of the machine, and free to be changed."""
    vectors = np.random.default_rng(7).normal(size=shape).astype(">f4")
    given = Embedded(vectors, input_tokens=12)
    back = read_embedded_answer(through_json(embedded_answer(given)))
    assert back.vectors.dtype == np.float32
    np.testing.assert_array_equal(back.vectors, vectors)
    assert back.input_tokens == 12
    back.vectors.fill(0)


def test_vectors_are_little_endian_float32_in_base64() -> None:
    """What other programs have to know to read a cassette."""
    told = embedded_answer(Embedded(np.array([[1.0, -2.0]], dtype=np.float32)))
    assert told["vectors"] == {"shape": [1, 2], "float32": "AACAPwAAAMA="}


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [
        (None, "shape of the vectors"),
        ({"shape": [1, -1], "float32": ""}, "shape of the vectors"),
        ({"shape": [True], "float32": ""}, "shape of the vectors"),
        ({"shape": [1, 2], "float32": "no base64!"}, "no base64"),
        ({"shape": [1, 2], "float32": None}, "no base64"),
        ({"shape": [1, 2], "float32": "AACAPw=="}, r"4 bytes are no vectors of the shape \[1, 2\]"),
        ({"shape": [10**12, 10**12], "float32": "AACAPw=="}, "4 bytes are no vectors"),
    ],
)
def test_damaged_vectors_say_what_is_wrong(vectors: Any, problem: str) -> None:
    """One InputError, and no memory is taken for a shape that lies."""
    with pytest.raises(InputError, match=problem):
        read_embedded_answer({"vectors": vectors})


def test_what_is_no_vectors_is_refused() -> None:
    """A host's own embedder may return anything."""
    for answer in (None, [[1.0]], SimpleNamespace(vectors=[["a"]])):
        with pytest.raises(InputError, match="came instead of vectors"):
            embedded_answer(answer)


# --- errors


@pytest.mark.parametrize("kind", SEARCH_ERRORS)
def test_a_providers_error_comes_back_whole(kind: type[SearchProviderError]) -> None:
    """Class, code, retry and status, also where they are not those of the class."""
    for error in (
        kind("down"),
        kind("down", code="quotaExceeded", retryable=True, retry_in_ms=1500, http_status=418),
    ):
        back = read_failure(through_json(failure(error)))
        assert type(back) is kind
        assert (str(back), vars(back)) == (str(error), vars(error))


@pytest.mark.parametrize(
    "error", [ModelError("m"), RuntimeError("r"), TimeoutError(), ConnectionError("c"), OSError()]
)
def test_other_errors_keep_class_and_message(error: Exception) -> None:
    """Those of models and of Python itself."""
    back = read_failure(through_json(failure(error)))
    assert type(back) is type(error)
    assert str(back) == (str(error) or type(error).__name__)


def test_an_unknown_error_is_its_nearest_known_ancestor() -> None:
    """A third party's class is not looked for, imported or called."""

    class Throttled(SearchProviderQuotaExceeded):
        pass

    class OddError(Exception):
        pass

    assert type(read_failure(failure(Throttled("t")))) is SearchProviderQuotaExceeded
    assert type(read_failure(failure(OddError("o")))) is RuntimeError
    assert str(read_failure(failure(OddError()))) == "OddError"


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("down", "no JSON object"),
        ({"kind": "SystemExit", "message": ""}, "no error called 'SystemExit'"),
        ({"kind": "os.system", "message": "true"}, "no error called"),
        ({"kind": ["ModelError"], "message": ""}, "no error called"),
        ({"kind": "ModelError"}, "no text"),
        ({"kind": "SearchProviderError", "message": "m"}, "no known code"),
        ({"kind": "SearchProviderError", "message": "m", "code": "odd", "retryable": True}, "code"),
        (
            failure(SearchProviderError("m")) | {"retry_in_ms": "soon"},
            "retry_in_ms or http_status",
        ),
    ],
)
def test_a_damaged_error_says_what_is_wrong(damage: Any, problem: str) -> None:
    """One InputError, whatever the damage."""
    with pytest.raises(InputError, match=problem):
        read_failure(damage)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ([], "it"),
        ({"model": "m"}, "pages"),
        ({"pages": [{"relevance": "1"}], "model": "m"}, "pages"),
        ({"pages": [], "model": 7}, "model"),
    ],
)
def test_damaged_judgements_are_refused(given: Any, place: str) -> None:
    """The message names the part of them."""
    with pytest.raises(InputError, match=f"^{place} of the judgements"):
        read_judgements_answer(given)


def test_judgements_come_back() -> None:
    """Those of no use come back as none."""
    made = Judgements([Judgement(1.0, "Yes."), None, Judgement(float("nan"))], "m", 3, None, None)
    back = read_judgements_answer(json.loads(json.dumps(judgements_answer(made))))
    assert back == Judgements([Judgement(1.0, "Yes."), None, None], "m", 3, None, None)
    with pytest.raises(InputError, match="str came instead of Judgements"):
        judgements_answer("[]")


def test_a_reply_comes_back_with_its_end() -> None:
    """One that was not cut off is written as in earlier versions, which are read."""
    made = ChatReply("Tea is", (), "m", 3, 2, cut_off=True)
    assert read_chat_answer(json.loads(json.dumps(chat_answer(made)))) == made
    whole = {"text": "Tea.", "model": "m", "input_tokens": 3, "output_tokens": 2, "tool_calls": []}
    assert chat_answer(ChatReply("Tea.", (), "m", 3, 2)) == whole
    assert not read_chat_answer(whole).cut_off
    with pytest.raises(InputError, match=r"^cut_off of the reply"):
        read_chat_answer(whole | {"cut_off": "yes"})
