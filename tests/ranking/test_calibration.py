"""Where a model's similarities lie."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collection_search.contracts.collection import Embedded
from collection_search.errors import ModelError
from collection_search.ranking import calibration
from collection_search.ranking.anchors import anchor_texts
from collection_search.ranking.calibration import (
    await_calibration,
    forget_scale,
    known_scale,
    scale_of,
    start_scale,
)
from collection_search.ranking.scale_files import FOLDER
from collection_search.ranking.scoring import DENSE, LEXICAL
from collection_search.testing import FakeClock, ScriptedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.contracts.collection import Vectors


ENGLISH, GERMAN = "How do I cancel a task?", "Wie breche ich eine Aufgabe ab?"


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
    return sorted((folder / FOLDER).glob("*"))


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
async def test_a_scale_is_its_owner_s(tmp_path: Path) -> None:
    """As all files of the data folder are."""
    await scale_of(Placing(spread(0.2, 0.7)), folder=tmp_path)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / FOLDER, *kept(tmp_path))]
    assert modes == [0o700, 0o600]


async def test_anchors_are_embedded_once(tmp_path: Path) -> None:
    """In one request of all texts; what follows comes from memory."""
    embedder = Placing(spread(0.2, 0.7))
    found = await scale_of(embedder, folder=tmp_path)
    assert (found.unrelated, found.related) == (0.2, 0.7)
    assert found.dense == replace(DENSE, unrelated=0.2, related=0.7)
    assert await scale_of(embedder, folder=tmp_path) == found
    assert embedder.calls == [anchor_texts()]


async def test_what_is_known_is_there_at_once(tmp_path: Path) -> None:
    """Without a turn of the event loop."""
    embedder = ScriptedEmbedder()
    found = await scale_of(embedder, folder=tmp_path)
    assert start_scale(embedder, folder=tmp_path).result() == found


async def test_another_process_reads_the_file(
    tmp_path: Path, new_process: Callable[[], None]
) -> None:
    """The medians are in the data folder, by fingerprint."""
    found = await scale_of(ScriptedEmbedder(), folder=tmp_path)
    new_process()
    silent = ScriptedEmbedder(errors=[ModelError("not asked")])
    assert await scale_of(silent, folder=tmp_path) == found
    other = ScriptedEmbedder(dimension=32)
    assert await scale_of(other, folder=tmp_path) != found
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
        lambda file: json.dumps(file | {"languages": []}),
        lambda file: json.dumps(file | {"languages": [1]}),
        lambda file: json.dumps(file | {"languages": {"german": {"auc": 1, "distance": 5}}}),
        lambda file: json.dumps(file | {"languages": {"german": {"auc": 2, "distance": 5}}}),
        lambda file: json.dumps(file | {"languages": {"german": 1}}),
    ],
)
async def test_a_damaged_file_is_written_anew(
    tmp_path: Path, new_process: Callable[[], None], damage: Callable[[Any], str]
) -> None:
    """Whatever stands in it; so is one of other anchors."""
    embedder = ScriptedEmbedder()
    found = await scale_of(embedder, folder=tmp_path)
    [file] = kept(tmp_path)
    sound = file.read_text()
    file.write_text(damage(json.loads(sound)))
    new_process()
    assert await scale_of(embedder, folder=tmp_path) == found
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
    found = await scale_of(embedder, folder=home)
    assert await scale_of(embedder, folder=home) == found
    assert len(embedder.calls) == 1
    assert "stays in memory only" in caplog.text


async def test_many_who_ask_at_once_share_one_request(tmp_path: Path) -> None:
    """One that gives up meanwhile does not take it from the others."""
    embedder = Placing(spread(0.2, 0.7), waits=True)
    waiting = [asyncio.create_task(scale_of(embedder, folder=tmp_path)) for _ in range(5)]
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
        under_way = start_scale(embedder, folder=tmp_path)
        await embedder.asked.wait()
        assert not under_way.done()

    asyncio.run(given_up())
    embedder.let.set()
    for _ in range(2):
        assert asyncio.run(scale_of(embedder, folder=tmp_path)).related == 0.7
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
            await scale_of(embedder, folder=tmp_path, clock=clock.monotonic)
        clock.advance(calibration.FAILED_FOR_S / 3 - 1)
    assert list(map(len, embedder.calls)) == [128, calibration.PART]
    assert kept(tmp_path) == []
    clock.advance(3)
    found = await scale_of(embedder, folder=tmp_path, clock=clock.monotonic)
    assert found.is_complete
    assert calibration._failed == {}


async def test_a_failure_is_of_one_model_and_folder(tmp_path: Path) -> None:
    """Others are asked all the same."""
    down = ScriptedEmbedder(errors=[ModelError("down")] * 2)
    with pytest.raises(ModelError, match="down"):
        await scale_of(down, folder=tmp_path)
    assert (await scale_of(ScriptedEmbedder(dimension=32), folder=tmp_path)).related
    assert (await scale_of(down, folder=tmp_path / "other")).related


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
    whole = await scale_of(ScriptedEmbedder(), folder=tmp_path)
    small = Small(fingerprint="small:64")
    assert await scale_of(small, folder=tmp_path) == whole
    assert list(map(len, small.calls)) == [128, 32, 32, 32, 32]
    assert [text for part in small.calls[1:] for text in part] == anchor_texts()
    assert "(tokens: 40)" in caplog.text


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
        await scale_of(embedder, folder=tmp_path)
    assert kept(tmp_path) == []
    assert calibration._known == {}


@pytest.mark.parametrize("related", [0.5, 0.51, 0.1])
async def test_a_model_that_tells_nothing_apart_is_told(tmp_path: Path, related: float) -> None:
    """Equal, nearly equal and inverted medians; this process does not ask again, the next does."""
    embedder = Placing(spread(0.5, related))
    for _ in range(2):
        under_way = start_scale(embedder, folder=tmp_path)
        for question in (ENGLISH, GERMAN):
            found = await await_calibration(under_way, question)
            assert found == LEXICAL
            assert "tells related from unrelated" in found.reason
    assert (len(embedder.calls), kept(tmp_path)) == (1, [])


async def test_words_decide_in_the_language_that_the_model_cannot_tell(
    tmp_path: Path, new_process: Callable[[], None]
) -> None:
    """The model decides in the other; another process reads it in the file."""
    embedder = ScriptedEmbedder(tells=["english"])
    for _ in range(2):
        under_way = start_scale(embedder, folder=tmp_path)
        english, german = [await await_calibration(under_way, q) for q in (ENGLISH, GERMAN)]
        assert (english.scale, english.reason) == ("dense", "")
        assert german == LEXICAL
        assert (
            german.reason
            == "the model tells related from unrelated German texts no better than words do"
        )
        new_process()
    assert len(embedder.calls) == 1


async def test_a_scale_is_known_once_it_was_measured(
    tmp_path: Path, new_process: Callable[[], None]
) -> None:
    """In memory and in the file; nothing is asked for it."""
    embedder = ScriptedEmbedder()
    assert await known_scale(embedder.fingerprint, folder=tmp_path) is None
    found = await scale_of(embedder, folder=tmp_path)
    for _ in range(2):
        assert await known_scale(embedder.fingerprint, folder=tmp_path) == found
        new_process()
    assert len(embedder.calls) == 1


async def test_a_file_of_an_earlier_version_is_measured_anew(
    tmp_path: Path, new_process: Callable[[], None]
) -> None:
    """It has medians alone. Where the model does not answer, these are used as they were."""
    await scale_of(ScriptedEmbedder(), folder=tmp_path)
    [file] = kept(tmp_path)
    sound = json.loads(file.read_text())
    del sound["languages"]
    file.write_text(json.dumps(sound))
    new_process()
    silent = ScriptedEmbedder(error=ModelError("down"))
    earlier = await scale_of(silent, folder=tmp_path)
    assert (earlier.unrelated, earlier.is_complete) == (sound["unrelated"], False)
    assert earlier.calibration_for(GERMAN).scale == "dense"
    assert await scale_of(silent, folder=tmp_path) == earlier
    assert len(silent.calls) == 2  # whole and a part, once a process
    new_process()
    assert (await scale_of(ScriptedEmbedder(), folder=tmp_path)).is_complete
    assert set(json.loads(file.read_text())["languages"]) == {"english", "german"}


async def test_words_take_the_place_of_a_lost_scale(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a warning that has the cause, and no secret."""
    embedder = ScriptedEmbedder(errors=[ConnectionError("Authorization: Bearer abcdef123456")] * 2)
    for _ in range(3):
        assert await await_calibration(start_scale(embedder, folder=tmp_path), ENGLISH) is LEXICAL
    assert len(embedder.calls) == 2
    [record] = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert "could not be measured" in caplog.text
    assert "abcdef123456" not in caplog.text


async def test_the_tokens_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With what was measured."""
    caplog.set_level(logging.INFO)
    embedder = Placing(spread(0.2, 0.7))
    embedder.fingerprint = "openai:text-embedding-3-small"
    await scale_of(embedder, folder=tmp_path)
    assert "128 anchor texts (tokens: 1000)" in caplog.text
    assert "0.200 of unrelated and 0.700 of related" in caplog.text


async def test_a_scale_of_other_vectors_is_measured_anew(
    tmp_path: Path, new_process: Callable[[], None]
) -> None:
    """Another model may have the name by now; the file has the new scale."""
    embedder = ScriptedEmbedder(fingerprint="model")
    assert (await scale_of(embedder, folder=tmp_path)).dimension == 64
    embedder.dimension = 128
    for _ in range(2):
        old = start_scale(embedder, folder=tmp_path)
        again = partial(start_scale, embedder, folder=tmp_path, dimension=128)
        found = await await_calibration(old, ENGLISH, dimension=128, again=again)
        assert found.scale == "dense"
        scale = await known_scale("model", folder=tmp_path)
        assert scale is not None
        assert scale.dimension == 128
        new_process()
    assert len(embedder.calls) == 2


async def test_a_file_of_an_earlier_version_fits_every_dimension(
    tmp_path: Path, new_process: Callable[[], None]
) -> None:
    """Its scale stays in use."""
    embedder = ScriptedEmbedder(fingerprint="model")
    await scale_of(embedder, folder=tmp_path)
    (file,) = (tmp_path / FOLDER).iterdir()
    stored = json.loads(file.read_text())
    del stored["dimension"]
    file.write_text(json.dumps(stored))
    new_process()
    await start_scale(embedder, folder=tmp_path, dimension=32)
    assert len(embedder.calls) == 1


async def test_a_scale_can_be_forgotten(tmp_path: Path) -> None:
    """The next use measures it."""
    embedder = ScriptedEmbedder(fingerprint="model")
    await scale_of(embedder, folder=tmp_path)
    forget_scale("model", folder=tmp_path)
    assert await known_scale("model", folder=tmp_path) is None
    await scale_of(embedder, folder=tmp_path)
    assert len(embedder.calls) == 2
