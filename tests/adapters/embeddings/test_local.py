"""Embeddings computed on this machine, by a real model that the test writes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.tiny_model import DIMENSION, write_json, write_model

from collection_search.adapters.embeddings.local import BATCH, LocalEmbedder
from collection_search.errors import ConfigError, MissingExtraError, ModelError
from collection_search.settings import Settings, registry

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("fastembed")
pytest.importorskip("onnx")

TEXTS = ["cancel an asyncio task", "pandas reads a csv file", "cancel a file"]


def embedder(folder: Path | str) -> LocalEmbedder:
    return LocalEmbedder.from_settings(Settings(), model=str(folder))


async def vectors(folder: Path, texts=TEXTS):
    return (await embedder(folder).embed(texts)).vectors


async def test_a_folder_gives_unit_vectors(tmp_path):
    """Mean of the token vectors, without a network; texts that share words lie near."""
    found = await embedder(write_model(tmp_path)).embed(TEXTS)
    assert found.vectors.shape == (3, DIMENSION)
    assert found.vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(found.vectors, axis=1), 1.0, atol=1e-6)
    assert found.input_tokens is None
    assert found.vectors[0] @ found.vectors[2] > found.vectors[0] @ found.vectors[1]


@pytest.mark.parametrize(
    ("files", "taken"),
    [
        (["model.onnx", "model_int8.onnx"], "model.onnx"),
        (["onnx/model.onnx", "onnx/model_quantized.onnx"], "onnx/model.onnx"),
        (["model_quantized.onnx", "model_int8.onnx", "model_fp16.onnx"], "model_int8.onnx"),
        (["onnx/model_fp16.onnx", "onnx/model_quantized.onnx"], "onnx/model_quantized.onnx"),
        (["my-own.onnx"], "my-own.onnx"),
    ],
)
async def test_the_weights_are_found(tmp_path, files, taken):
    """The plain model first, then a quantised one, beside the tokenizer or in `onnx/`."""
    for seed, file in enumerate(files):
        write_model(tmp_path / "many", weights=file, seed=seed)
    write_model(tmp_path / "one", weights="model.onnx", seed=files.index(taken))
    assert np.array_equal(await vectors(tmp_path / "many"), await vectors(tmp_path / "one"))


@pytest.mark.parametrize(
    "config",
    [
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        {"pooling_mode": "cls"},
    ],
)
async def test_the_pooling_is_that_of_the_folder(tmp_path, config):
    """The first token is the same in every text, its vector as well."""
    write_json(write_model(tmp_path) / "1_Pooling" / "config.json", config)
    found = await vectors(tmp_path)
    assert np.allclose(found[0], found[1])


async def test_a_model_that_ends_in_one_vector_a_text_is_not_pooled_again(tmp_path):
    """Exporters may put the pooling into the graph."""
    found = await vectors(write_model(tmp_path, pooled=True))
    assert found.shape == (3, DIMENSION)
    assert not np.allclose(found[0], found[1])


def test_the_fingerprint_tells_models_apart_and_holds_no_path(tmp_path):
    """Folder name and a hash of what the vectors depend on."""
    one = write_model(tmp_path / "here" / "minilm")
    same = write_model(tmp_path / "there" / "minilm")
    other = write_model(tmp_path / "else" / "minilm", seed=1)
    first, second, third = (embedder(folder).fingerprint for folder in (one, same, other))
    assert first == second != third
    assert first.startswith("local:minilm:")
    assert len(first) == len("local:minilm:") + 12
    write_json(same / "1_Pooling" / "config.json", {"pooling_mode": "cls"})
    assert embedder(same).fingerprint != first


def test_weights_outside_the_file_count_too(tmp_path):
    """Large models keep them beside it."""
    folder = write_model(tmp_path)
    before = embedder(folder).fingerprint
    (folder / "model.onnx_data").write_bytes(b"weights")
    assert embedder(folder).fingerprint != before


@pytest.mark.parametrize("name", ["./model", "model", "~/model", "{folder}/model/"])
async def test_a_folder_may_be_named_in_any_way(tmp_path, monkeypatch, name):
    """Relative, from the home folder, with a slash at its end."""
    write_model(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    model = embedder(name.format(folder=tmp_path))
    assert model.fingerprint.startswith("local:model:")
    assert len((await model.embed(TEXTS)).vectors) == 3


def broken(folder: Path, file: str) -> Path:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text("[1, 2", "utf-8")
    return folder


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: folder / "nowhere", "does not exist"),
        (lambda folder: folder / "model.onnx", "does not exist"),
        (lambda folder: f"~nobody-of-this-name{folder}", "does not exist"),
        (lambda folder: (folder / "empty").mkdir() or folder / "empty", "holds no ONNX model"),
        (lambda folder: (folder / "tokenizer.json").unlink() or folder, "lacks tokenizer.json"),
        (lambda folder: broken(folder, "modules.json"), "modules.json cannot be read"),
        (lambda folder: broken(folder, "1_Pooling/config.json"), "config.json cannot be read"),
    ],
)
def test_a_wrong_folder_is_an_error_of_the_settings(tmp_path, spoil, sentence):
    """The message names the folder and what is wrong with it."""
    folder = spoil(write_model(tmp_path))
    with pytest.raises(ConfigError, match=sentence) as caught:
        embedder(folder)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("file", "value", "sentence"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "weightedmean"}, "pools by .'weightedmean'."),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False}, r"pools by \[\]"),
        ("1_Pooling/config.json", ["cls"], "another form"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "a module 'Dense'"),
    ],
)
def test_a_model_whose_vectors_would_be_wrong_is_refused(tmp_path, file, value, sentence):
    """Rather no vectors than ones that only look right."""
    write_json(write_model(tmp_path) / file, value)
    with pytest.raises(ConfigError, match=sentence):
        embedder(tmp_path)


def test_the_usual_modules_are_covered(tmp_path):
    """Transformer, pooling and normalisation."""
    kinds = [f"sentence_transformers.models.{kind}" for kind in ("Transformer", "Normalize")]
    write_json(write_model(tmp_path) / "modules.json", [{"type": kind} for kind in kinds])
    assert embedder(tmp_path).fingerprint.startswith("local:")


async def test_a_broken_model_is_a_model_error(tmp_path):
    """Its files are read by the first use; nothing is kept of the failure."""
    model = embedder(broken(write_model(tmp_path / "spoilt"), "model.onnx"))
    with pytest.raises(ModelError, match=r"local:spoilt.* cannot be loaded: .*Check the files"):
        await model.embed(TEXTS)
    with pytest.raises(ModelError, match="cannot be loaded"):
        await model.embed(TEXTS)


async def test_a_folder_that_was_put_right_works(tmp_path):
    """Also where its weights lie elsewhere now."""
    folder = write_model(tmp_path / "mended")
    tokenizer = (folder / "tokenizer_config.json").read_bytes()
    (folder / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        await vectors(folder)
    (folder / "tokenizer_config.json").write_bytes(tokenizer)
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert len(await vectors(folder)) == 3


async def test_a_tokenizer_without_a_limit_is_told_in_its_own_words(tmp_path):
    """The message says which value is missing."""
    folder = write_model(tmp_path / "unlimited")
    write_json(folder / "tokenizer_config.json", {"pad_token": "[PAD]"})
    with pytest.raises(ModelError, match=r"local:unlimited.* cannot be loaded: .*max.*length"):
        await vectors(folder)


async def test_a_model_is_loaded_once(tmp_path):
    """However many embedders, tasks and event loops use it."""
    folder = write_model(tmp_path / "shared")
    models = [embedder(folder) for _ in range(8)]
    found = await asyncio.gather(*(model.embed(TEXTS) for model in models))
    (folder / "model.onnx").unlink()
    later = await asyncio.to_thread(lambda: asyncio.run(models[0].embed(TEXTS)))
    assert all(np.array_equal(each.vectors, later.vectors) for each in found)


async def test_a_cancelled_call_leaves_the_next_one_free(tmp_path):
    """Whether it was loading, computing or waiting for its turn."""
    model = embedder(write_model(tmp_path / "cancelled"))
    calls = [asyncio.create_task(model.embed(TEXTS * BATCH)) for _ in range(3)]
    await asyncio.sleep(0)
    for call in calls:
        call.cancel()
    assert all(
        isinstance(each, asyncio.CancelledError)
        for each in await asyncio.gather(*calls, return_exceptions=True)
    )
    assert len((await model.embed(TEXTS)).vectors) == 3


# Names of fastembed's list


def test_a_listed_name_is_written_as_in_the_list():
    """So that its fingerprint is the same however it was typed. Nothing is fetched."""
    assert embedder("baai/BGE-small-en-v1.5").fingerprint == "local:BAAI/bge-small-en-v1.5"


@pytest.mark.parametrize("name", ["BAAI/bge-smal-en", "openai"])
def test_an_unknown_name_shows_similar_ones_and_the_way_out(name):
    """A name is checked before anything is searched."""
    with pytest.raises(ConfigError, match=r"no local model .* local:/path/to/folder"):
        embedder(name)
    with pytest.raises(ConfigError, match=r"BAAI/bge-small-en-v1\.5"):
        embedder("BAAI/bge-smal-en")


OFFLINE = """
import asyncio, sys
from pathlib import Path
from collection_search.adapters.embeddings.local import LocalEmbedder
from collection_search.settings import Settings

model = LocalEmbedder.from_settings(Settings(home=Path(sys.argv[1])), model="BAAI/bge-small-en-v1.5")
assert "onnxruntime" in sys.modules
try:
    asyncio.run(model.embed(["a"]))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_model_that_cannot_be_fetched_says_what_to_do(tmp_path, monkeypatch):
    """Soon, and without a word on the terminal but ours."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("ModelError The embedding model local:BAAI/bge"), done.stderr
    assert "cannot be loaded" in done.stdout
    assert "connect this machine once, or name a folder" in done.stdout
    assert done.stderr == ""


# The extra


def test_without_fastembed_the_extra_is_named(monkeypatch):
    """Before a folder is looked at."""
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'collection-search\[local\]'"):
        embedder("/nowhere")


@pytest.mark.parametrize("model", ["", " "])
def test_local_without_a_model_says_how_to_name_one(model):
    """`local` alone does not say which model."""
    with pytest.raises(ConfigError, match=r"local:BAAI/bge-small-en-v1\.5"):
        embedder(model)


@pytest.mark.slow
def test_the_registry_loads_nothing_heavy():
    """The model's libraries come with the model."""
    code = (
        "import sys; from collection_search.settings import registry; registry.load_adapter('embeddings', 'local');"
        "assert not {'fastembed', 'onnxruntime', 'huggingface_hub'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert registry.load_adapter("embeddings", "local") is LocalEmbedder
