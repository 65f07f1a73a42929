"""Where a model's similarities lie."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collection_search.contracts.collection import Embedded
from collection_search.errors import ModelError
from collection_search.ranking import calibration
from collection_search.ranking.calibration import (
    Medians,
    anchor_texts,
    await_calibration,
    calibration_of,
    medians_of,
    start_calibration,
)
from collection_search.ranking.scoring import DENSE, LEXICAL
from collection_search.testing import FakeClock, ScriptedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.contracts.collection import Vectors


@pytest.fixture(autouse=True)
def new_process() -> Iterator[Callable[[], None]]:
    """Forget what is in memory, before each test and whenever a test wants."""

    def forget() -> None:
        calibration._known.clear()
        calibration._failed.clear()

    forget()
    yield forget
    forget()


class Placing(ScriptedEmbedder):
    """Gives vectors by a function of the texts, once it is let."""

    def __init__(self, place: Callable[[list[str]], Any], *, waits: bool = False) -> None:
        super().__init__(fingerprint="placing:2")
        self.place = place
        self.asked, self.let = asyncio.Event(), asyncio.Event()
        if not waits:
            self.let.set()

    async def embed(self, texts: Any) -> Embedded:
        self.calls.append(list(texts))
        self.asked.set()
        await self.let.wait()
        return Embedded(self.place(texts), 1000)


def spread(unrelated: float, related: float) -> Callable[[list[str]], Vectors]:
    """Return vectors of the anchors whose cosines are these for every pair of either kind."""

    def place(texts: list[str]) -> Vectors:
        vectors = np.zeros((len(texts), len(texts) + 1), np.float32)
        for start in range(0, len(texts), 64):
            for n in range(32):
                question, page = vectors[start + n], vectors[start + 32 + n]
                question[start + n], page[start + n] = 1, related - unrelated
                question[-1], page[-1] = 1, unrelated
        return vectors

    return place


def kept(folder: Path) -> list[Path]:
    return sorted((folder / calibration.FOLDER).glob("*"))


def test_medians_are_of_own_and_other_pages_of_a_language() -> None:
    """Each language counts the same, whatever its cosines."""
    vectors = spread(0.25, 0.75)(anchor_texts())
    assert medians_of(vectors) == (0.25, 0.75)
    vectors[64:96] *= 0.5
    assert medians_of(vectors) == (0.1875, 0.5625)


@pytest.mark.parametrize("count", [0, 127, 129])
def test_vectors_of_other_texts_are_refused(count: int) -> None:
    """None can be missing, none can be too many."""
    with pytest.raises(ModelError, match=f"128 .* {count}"):
        medians_of(np.ones((count, 2), np.float32))


async def test_anchors_are_embedded_once(tmp_path: Path) -> None:
    """In one request of all texts; what follows comes from memory."""
    embedder = Placing(spread(0.2, 0.7))
    found = await calibration_of(embedder, folder=tmp_path)
    assert (found.unrelated, found.related) == (0.2, 0.7)
    assert (found.similarity, found.wording) == (DENSE.similarity, DENSE.wording)
    assert await calibration_of(embedder, folder=tmp_path) == found
    assert embedder.calls == [anchor_texts()]


async def test_what_is_known_is_there_at_once(tmp_path: Path) -> None:
    """Without a turn of the event loop."""
    embedder = ScriptedEmbedder()
    found = await calibration_of(embedder, folder=tmp_path)
    assert start_calibration(embedder, folder=tmp_path).result() == found


async def test_another_process_reads_the_file(
    tmp_path: Path, new_process: Callable[[], None]
) -> None:
    """The medians are in the data folder, by fingerprint."""
    found = await calibration_of(ScriptedEmbedder(), folder=tmp_path)
    new_process()
    silent = ScriptedEmbedder(errors=[ModelError("not asked")])
    assert await calibration_of(silent, folder=tmp_path) == found
    other = ScriptedEmbedder(dimension=32)
    assert await calibration_of(other, folder=tmp_path) != found
    assert (len(silent.calls), len(other.calls), len(kept(tmp_path))) == (0, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "",
        lambda _: "{",
        lambda _: "[]",
        lambda _: "\x00" * 100,
        lambda _: "[" * 200_000,
        lambda file: json.dumps(file | {"related": 1e300}),
        lambda file: json.dumps(file | {"related": 10**400}),
        lambda file: json.dumps(file | {"related": 1.01}),
        lambda file: json.dumps(file | {"unrelated": -1.01}),
        lambda file: json.dumps(file | {"anchors": "of an earlier version"}),
        lambda file: json.dumps(file | {"fingerprint": "another"}),
        lambda file: json.dumps(file | {"related": float("inf")}),
        lambda file: json.dumps(file | {"unrelated": None}),
        lambda file: json.dumps(file | {"related": file["unrelated"]}),
        lambda file: json.dumps({"related": 0.6}),
    ],
)
async def test_a_damaged_file_is_written_anew(
    tmp_path: Path, new_process: Callable[[], None], damage: Callable[[Any], str]
) -> None:
    """Whatever stands in it; so is one of other anchors."""
    embedder = ScriptedEmbedder()
    found = await calibration_of(embedder, folder=tmp_path)
    [file] = kept(tmp_path)
    sound = file.read_text()
    file.write_text(damage(json.loads(sound)))
    new_process()
    assert await calibration_of(embedder, folder=tmp_path) == found
    assert len(embedder.calls) == 2
    assert [each.read_text() for each in kept(tmp_path)] == [sound]


async def test_a_folder_that_cannot_be_written_is_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The medians stay in memory, which is told at level info."""
    caplog.set_level(logging.INFO)
    home = tmp_path / "file"
    home.touch()
    embedder = ScriptedEmbedder()
    found = await calibration_of(embedder, folder=home)
    assert await calibration_of(embedder, folder=home) == found
    assert len(embedder.calls) == 1
    assert "stay in memory only" in caplog.text


async def test_many_who_ask_at_once_share_one_request(tmp_path: Path) -> None:
    """One that gives up meanwhile does not take it from the others."""
    embedder = Placing(spread(0.2, 0.7), waits=True)
    waiting = [asyncio.create_task(calibration_of(embedder, folder=tmp_path)) for _ in range(5)]
    await embedder.asked.wait()
    waiting[0].cancel()
    embedder.let.set()
    first, *others = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(first, asyncio.CancelledError)
    assert [other.related for other in others if not isinstance(other, BaseException)] == [0.7] * 4
    assert len(embedder.calls) == 1


def test_every_event_loop_is_served(tmp_path: Path) -> None:
    """Memory is the process's; what one loop left unfinished is no burden for the next."""
    embedder = Placing(spread(0.2, 0.7), waits=True)

    async def given_up() -> None:
        under_way = start_calibration(embedder, folder=tmp_path)
        await embedder.asked.wait()
        assert not under_way.done()

    asyncio.run(given_up())
    embedder.let.set()
    for _ in range(2):
        assert asyncio.run(calibration_of(embedder, folder=tmp_path)).related == 0.7
    assert len(embedder.calls) == 2
    assert calibration._flights == {}


async def test_a_failed_request_is_made_again(tmp_path: Path) -> None:
    """Not before some minutes have passed; until then the cause is told."""
    clock = FakeClock()
    embedder = ScriptedEmbedder(errors=[ModelError("too many"), ConnectionError("token=abc")])
    for _ in range(3):
        with pytest.raises(
            ModelError, match=r"scripted:64 could not be measured: token=\[secret\]"
        ):
            await calibration_of(embedder, folder=tmp_path, clock=clock.monotonic)
        clock.advance(calibration.FAILED_FOR_S / 3 - 1)
    assert list(map(len, embedder.calls)) == [128, calibration.PART]
    assert kept(tmp_path) == []
    clock.advance(3)
    found = await calibration_of(embedder, folder=tmp_path, clock=clock.monotonic)
    assert found.scale == "dense"
    assert calibration._failed == {}


async def test_a_failure_is_of_one_model_and_folder(tmp_path: Path) -> None:
    """Others are asked all the same."""
    down = ScriptedEmbedder(errors=[ModelError("down")] * 2)
    with pytest.raises(ModelError, match="down"):
        await calibration_of(down, folder=tmp_path)
    assert (await calibration_of(ScriptedEmbedder(dimension=32), folder=tmp_path)).related
    assert (await calibration_of(down, folder=tmp_path / "other")).related


class Small(ScriptedEmbedder):
    """Takes few texts at once."""

    async def embed(self, texts: Any) -> Embedded:
        self.calls.append(list(texts))
        if len(texts) > calibration.PART:
            raise ModelError("at most 32 inputs")
        return Embedded((await ScriptedEmbedder().embed(texts)).vectors, 10)


async def test_a_model_that_takes_few_texts_gets_parts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its scale is that of the whole; the tokens of all parts are told."""
    caplog.set_level(logging.INFO)
    whole = await calibration_of(ScriptedEmbedder(), folder=tmp_path)
    small = Small(fingerprint="small:64")
    assert await calibration_of(small, folder=tmp_path) == whole
    assert list(map(len, small.calls)) == [128, 32, 32, 32, 32]
    assert [text for part in small.calls[1:] for text in part] == anchor_texts()
    assert "(tokens: 40," in caplog.text


@pytest.mark.parametrize(
    "place",
    [
        lambda texts: np.ones((len(texts) - 1, 2), np.float32),
        lambda texts: np.full((len(texts), 2), np.nan, np.float32),
        lambda texts: [[1.0, 0.0] for _ in texts],
        lambda _: None,
    ],
    ids=["too few", "no numbers", "no array", "nothing"],
)
async def test_vectors_that_are_none_are_a_failed_request(tmp_path: Path, place: Any) -> None:
    """Neither the whole nor a part of them is kept."""
    embedder = Placing(place)
    with pytest.raises(ModelError, match="could not be measured"):
        await calibration_of(embedder, folder=tmp_path)
    assert kept(tmp_path) == []
    assert calibration._known == {}


@pytest.mark.parametrize("related", [0.5, 0.51, 0.1])
async def test_a_model_that_tells_nothing_apart_is_told(tmp_path: Path, related: float) -> None:
    """Equal, nearly equal and inverted medians; this process does not ask again, the next does."""
    embedder = Placing(spread(0.5, related))
    for _ in range(2):
        with pytest.raises(ModelError, match="does not tell related from unrelated"):
            await calibration_of(embedder, folder=tmp_path)
    assert (len(embedder.calls), kept(tmp_path)) == (1, [])


async def test_words_take_the_place_of_a_lost_scale(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning that has the cause, and no secret."""
    embedder = ScriptedEmbedder(errors=[ConnectionError("Authorization: Bearer abcdef123456")] * 2)
    for _ in range(3):
        assert await await_calibration(start_calibration(embedder, folder=tmp_path)) is LEXICAL
    assert len(embedder.calls) == 2
    [record] = caplog.records
    assert (record.levelname, record.exc_info is not None) == ("WARNING", True)
    assert "could not be measured" in caplog.text
    assert "abcdef123456" not in caplog.text


async def test_the_price_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No run counts the anchors, so the log says what they cost."""
    caplog.set_level(logging.INFO)
    embedder = Placing(spread(0.2, 0.7))
    embedder.fingerprint = "openai:text-embedding-3-small"
    await calibration_of(embedder, folder=tmp_path)
    assert "128 anchor texts (tokens: 1000, US dollars: 0.00002000)" in caplog.text
    assert "0.200 of unrelated and 0.700 of related" in caplog.text


@pytest.mark.parametrize(
    ("medians", "useful"),
    [((0.1, 0.5), True), ((-0.2, 0.1), True), ((0.5, 0.5), False), ((0.5, float("nan")), False)],
)
def test_medians_have_to_be_apart(medians: tuple[float, float], useful: bool) -> None:
    """Else dividing by their distance would make any score."""
    assert Medians(*medians).tell_apart is useful
