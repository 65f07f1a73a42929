"""A cross-encoder of a folder, by a real model that the test writes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.tiny_cross_encoder import write_cross_encoder
from support.tiny_model import write_model

from collection_search import SearchContext
from collection_search.adapters.rerankers.cross_encoder import BATCH, CrossEncoder
from collection_search.errors import ConfigError, MissingExtraError, ModelError
from collection_search.ports import JudgedPage, Reranker
from collection_search.settings import Settings, registry

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("fastembed")
pytest.importorskip("onnx")

PAGES = [
    JudgedPage("Cancel", "cancel a task", "https://a.example/1"),
    JudgedPage("pandas", "pandas reads a csv file", "https://a.example/2"),
    JudgedPage("how", "do i", "https://a.example/3"),
]


def reranker(folder: Path | str) -> CrossEncoder:
    return CrossEncoder.from_settings(Settings(), model=str(folder))


@pytest.mark.parametrize("with_types", [True, False])
async def test_a_folder_judges_pairs(tmp_path: Path, with_types: bool) -> None:
    """Title and text count, a longer neighbour in the batch does not, and no reason is made up."""
    model = reranker(write_cross_encoder(tmp_path / str(with_types), with_types=with_types))
    made = await model.judge("how do i", PAGES)
    relevance = [one.relevance for one in made.pages if one is not None]
    assert relevance == [pytest.approx(0.9975, abs=1e-4), pytest.approx(0.0003, abs=1e-4), 0.5]
    assert {one.reason for one in made.pages if one is not None} == {None}
    assert (made.cost_usd, made.input_tokens, made.model) == (0.0, None, model.reranker_name)
    [alone] = (await model.judge("how do i", PAGES[:1])).pages
    assert alone is not None
    assert alone.relevance == pytest.approx(relevance[0])


async def test_the_question_is_read_too(tmp_path: Path) -> None:
    """It is the first text of the pair."""
    model = reranker(write_cross_encoder(tmp_path / "asked"))
    made = [await model.judge(asked, PAGES[2:]) for asked in ("a task", "a csv file")]
    first, second = (one.pages[0] for one in made)
    assert first is not None
    assert second is not None
    assert first.relevance > 0.5 > second.relevance


async def test_many_pages_and_none(tmp_path: Path) -> None:
    """More than one batch, in order."""
    model = reranker(write_cross_encoder(tmp_path / "many"))
    made = await model.judge("how", [*PAGES[:1], *PAGES[1:2] * BATCH])
    high = [one is not None and one.relevance > 0.5 for one in made.pages]
    assert high == [True] + BATCH * [False]
    assert (await model.judge("how", [])).pages == []


async def test_a_model_is_loaded_by_its_first_use_and_once(tmp_path: Path) -> None:
    """However many tasks and event loops use it; its name holds no path."""
    folder = write_cross_encoder(tmp_path / "once")
    models = [reranker(folder) for _ in range(4)]
    assert all(isinstance(model, Reranker) for model in models)
    found = await asyncio.gather(*(model.judge("how", PAGES) for model in models))
    (folder / "model.onnx").unlink()
    later = await asyncio.to_thread(lambda: asyncio.run(models[0].judge("how", PAGES)))
    assert all(one.pages == later.pages for one in found)
    assert models[0].reranker_name.startswith("local:once:")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "local:/path/to/folder"),
        ("BAAI/bge-reranker-base", "local:/path/to/folder"),
        ("{folder}/nowhere", "does not exist"),
        ("{folder}/empty", "holds no ONNX model"),
    ],
)
def test_a_wrong_folder_is_an_error_of_the_settings(
    tmp_path: Path, name: str, sentence: str
) -> None:
    """Names of a hub are none: nothing is fetched."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=sentence):
        reranker(name.format(folder=tmp_path))


async def test_a_classifier_is_no_reranker(tmp_path: Path) -> None:
    """Nor is an embedding model: both give something else than one number for a pair."""
    for folder in (write_cross_encoder(tmp_path / "c", outputs=3), write_model(tmp_path / "e")):
        with pytest.raises(ModelError, match=r"is no cross-encoder: its output is \[.*one number"):
            await reranker(folder).judge("how", PAGES)


async def test_a_broken_file_is_a_model_error_that_cost_nothing(tmp_path: Path) -> None:
    """Nothing is kept of the failure, so that a folder that was put right works."""
    folder = write_cross_encoder(tmp_path / "broken")
    whole = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").write_text("[1, 2")
    model = reranker(folder)
    with pytest.raises(ModelError, match=r"cannot be loaded: .*Check the files") as caught:
        await model.judge("how", PAGES)
    assert caught.value.may_be_billed is False
    (folder / "tokenizer.json").write_bytes(whole)
    assert len((await model.judge("how", PAGES)).pages) == 3


def test_without_fastembed_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a folder is looked at."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(
        MissingExtraError, match=r"reranker .*pip install 'collection-search\[local"
    ):
        reranker("/nowhere")


async def test_the_setting_names_it(tmp_path: Path) -> None:
    """The context loads it once for the process; an unknown name lists what there is."""
    folder = write_cross_encoder(tmp_path / "set")
    settings = Settings(home=tmp_path, reranker=f"local:{folder}")
    first, second = [await SearchContext(settings=settings).named_reranker() for _ in range(2)]
    assert first is second
    assert isinstance(first, CrossEncoder)
    with pytest.raises(ConfigError, match=r"'remote' names no reranker: .*Known: local"):
        await SearchContext(settings=settings, reranker="remote:x").named_reranker()


@pytest.mark.parametrize("given", [3, ["local:x"], {"name": "x"}])
def test_a_reranker_is_a_name_or_an_object(given: Any) -> None:
    """Values of JSON that are no names are refused."""
    with pytest.raises(ValueError, match="give a name, or a live object"):
        SearchContext(reranker=given)


@pytest.mark.slow
def test_the_registry_loads_nothing_heavy() -> None:
    """The model's libraries come with the model."""
    code = (
        "import sys; from collection_search.settings import registry;"
        "registry.load_adapter('rerankers', 'local');"
        "assert not {'fastembed', 'onnxruntime', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert registry.load_adapter("rerankers", "local") is CrossEncoder
