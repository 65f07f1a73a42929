"""A call of an embedder that keeps to its port, or not."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from collection_search.contracts.collection import Embedded
from collection_search.errors import ConfigError, ModelError
from collection_search.testing import ScriptedEmbedder
from collection_search.tools.spending.embedder_call import ask_embedder

TEXTS = ["tea", "rice"]


class Giving(ScriptedEmbedder):
    """Returns or raises what it is given."""

    def __init__(self, answer: Any) -> None:
        super().__init__(fingerprint="mine:2")
        self.answer = answer

    async def embed(self, texts: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "gave NoneType in place of Embedded"),
        (Embedded([[1.0, 0.0], [0.0, 1.0]]), "gave list in place of an array of numbers"),  # type: ignore[arg-type]
        (Embedded(np.full((2, 2), None, dtype=object)), "gave an array of object in place"),
        (Embedded(np.array([["a"], ["b"]])), "gave an array of <U1 in place"),
        (Embedded(np.ones(2, np.float32)), r"gave an array of the shape \(2,\)"),
        (Embedded(np.ones((2, 0), np.float32)), r"gave an array of the shape \(2, 0\)"),
        (Embedded(np.ones((1, 2), np.float32)), "gave 1 vectors for 2 texts"),
        (Embedded(np.full((2, 2), np.inf, np.float32)), "gave vectors that hold NaN or infinite"),
        (Embedded(np.full((2, 2), 1e300)), "gave vectors that hold NaN or infinite"),
        (Embedded(np.array([[1.0, 0.0], [0.0, 0.0]])), "a vector of zeros for a text with words"),
        (Embedded(np.eye(2), "9"), "gave '9' in place of a number of tokens"),  # type: ignore[arg-type]
        (Embedded(np.eye(2), -9), "gave -9 in place of a number of tokens"),
        (Embedded(np.eye(2), float("nan")), "gave nan in place of"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_is_told(answer: Any, told: str) -> None:
    """With the embedder's name and what is wanted."""
    with pytest.raises(
        ModelError, match=f"^The embedder mine:2 .*{told}.*a NumPy array of float32"
    ):
        await ask_embedder(Giving(answer), TEXTS)


async def test_the_tokens_of_an_unusable_answer_are_known() -> None:
    """It was paid for."""
    with pytest.raises(ModelError) as caught:
        await ask_embedder(Giving(Embedded(np.zeros((2, 0), np.float32), 7)), TEXTS)
    assert caught.value.input_tokens == 7


@pytest.mark.parametrize(("given", "tokens"), [(np.int64(7), 7), (7.0, 7), (0, 0), (None, None)])
async def test_tokens_are_a_plain_number(given: Any, tokens: int | None) -> None:
    """Also where an embedder adds them up with NumPy."""
    answer = await ask_embedder(Giving(Embedded(np.eye(2), given)), TEXTS)
    assert (answer.input_tokens, type(answer.input_tokens)) == (tokens, type(tokens))


@pytest.mark.parametrize(
    "error",
    [ValueError("boom sk-abcdefghijklmnopqrstuv1234"), KeyError("x"), asyncio.CancelledError()],
)
async def test_any_error_is_a_model_error(error: BaseException) -> None:
    """With its class, its cause and no secret; also a cancellation that nobody asked for."""
    with pytest.raises(ModelError, match=f"mine:2 failed with {type(error).__name__}") as caught:
        await ask_embedder(Giving(error), TEXTS)
    assert caught.value.__cause__ is error
    assert "sk-abc" not in str(caught.value)


async def test_a_caller_that_is_cancelled_ends() -> None:
    """That is no failure of the embedder."""
    began = asyncio.Event()

    class Slow(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Any:
            began.set()
            await asyncio.sleep(60)

    call = asyncio.create_task(ask_embedder(Slow(), TEXTS))
    await began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize("error", [ModelError("busy"), ConfigError("no key")])
async def test_errors_of_this_package_stay(error: Exception) -> None:
    """They say already what to do."""
    with pytest.raises(type(error)) as caught:
        await ask_embedder(Giving(error), TEXTS)
    assert caught.value is error


async def test_vectors_are_scaled_to_length_one() -> None:
    """Cosines are products of them; what has that length, but for rounding, stays as it is."""
    long = Embedded(np.array([[3.0, 4.0], [0.0, 9.0]]), 5)
    given = await ask_embedder(Giving(long), TEXTS)
    assert given.vectors.dtype == np.float32
    assert given.vectors.tolist() == [pytest.approx([0.6, 0.8]), [0.0, 1.0]]
    assert given.input_tokens == 5
    unit = np.array([[1.00001, 0.0], [0.0, 1.0]], np.float32)
    assert (await ask_embedder(Giving(Embedded(unit)), TEXTS)).vectors is unit
    large = np.full((2, 1 << 16), 2.0, np.float32)
    assert np.linalg.norm((await ask_embedder(Giving(Embedded(large)), TEXTS)).vectors[1]) == 1.0


async def test_a_text_without_words_may_be_a_row_of_zeros() -> None:
    """It is like nothing; no texts have no rows."""
    rows = Embedded(np.array([[1.0, 0.0], [0.0, 0.0]], np.float32))
    assert (await ask_embedder(Giving(rows), ["tea", " -- "])).vectors.tolist() == [[1, 0], [0, 0]]
    none = Embedded(np.zeros((0, 0), np.float32))
    assert await ask_embedder(Giving(none), []) is none


async def test_rows_that_cannot_be_used_may_leave_the_others() -> None:
    """Each page of a ranking stands for itself."""
    rows = np.array([[3.0, 0.0], [np.inf, 0.0], [0.0, 0.0], [np.nan, 1.0], [0.0, 0.0]])
    texts = ["tea", "rice", "milk", "corn", "-"]
    given = (await ask_embedder(Giving(Embedded(rows)), texts, in_part=True)).vectors
    assert np.isnan(given[[1, 2, 3]]).any(axis=1).all()
    assert given[[0, 4]].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ModelError, match="gave 5 vectors for 2 texts"):
        await ask_embedder(Giving(Embedded(rows)), TEXTS, in_part=True)
