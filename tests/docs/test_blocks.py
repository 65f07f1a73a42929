"""Every code block of the documentation runs, and prints what the page says."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml
from support.doc_blocks import KINDS, LANGUAGES, Block, blocks_of, pages
from support.doc_sessions import Session
from support.doc_web import example_web
from support.offline_index import copy_offline_index
from typer.main import get_command

from collection_search.cli import COMMANDS, app
from collection_search.settings import Settings
from collection_search.testing import OpenAIServer, ProviderServer
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.google import ENGINE_ID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCKS: Final = {page: blocks_of(page) for page in pages()}
ALL: Final = [block for blocks in BLOCKS.values() for block in blocks]
PLAN: Final = {"queries": ["asyncio timeout", "asyncio cancel", "python asyncio"]}
QUESTION: Final = "How do I cancel an asyncio task after a timeout?"
NOT_RUN: Final = ("parse", "illustration", "skip")


def runs(block: Block) -> bool:
    """Return whether the block is run or written."""
    if block.kind in NOT_RUN or block.is_output:
        return False
    return block.kind == "file" or block.language in ("python", "sh")


def is_server(page: str) -> bool:
    """Return whether the page starts a server at the address that it names."""
    return any(block.kind == "server" for block in BLOCKS[page])


PAGES: Final = [
    pytest.param(page, marks=[pytest.mark.server if is_server(page) else pytest.mark.slow])
    for page in pages()
    if any(map(runs, BLOCKS[page]))
]


@pytest.fixture(scope="module")
def web() -> Iterator[dict[str, str]]:
    """Variables that lead to pages of the examples' hosts."""
    with example_web() as variables:
        yield variables


@pytest.fixture(scope="module")
def doubles(web: dict[str, str]) -> Iterator[dict[str, str]]:
    """Variables that lead to the doubles of all providers and of a model, and to pages."""
    with ExitStack() as running:
        variables = dict(web)
        for name in DIALECTS:
            server = running.enter_context(ProviderServer(name))
            variables |= {f"{name.upper()}_API_KEY": server.key}
            variables |= {f"{name.upper()}_BASE_URL": server.base_url}
        model = running.enter_context(OpenAIServer(PLAN))
        variables["SEARXNG_URL"] = variables["SEARXNG_BASE_URL"]
        variables |= {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": model.base_url}
        yield variables | {"GOOGLE_SEARCH_ENGINE_ID": ENGINE_ID}


@pytest.fixture(scope="module")
def variables(web: dict[str, str], doubles: dict[str, str]) -> dict[str, dict[str, str]]:
    """Variables of a block by its kind."""
    return {"web": web, "doubles": doubles}


@pytest.fixture(scope="module")
def filled_home(offline_index_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the collection `py`, which most pages speak of."""
    home = tmp_path_factory.mktemp("filled")
    copy_offline_index(offline_index_folder, home)
    folder = tmp_path_factory.mktemp("filling")
    asked = f'collection-search run "{QUESTION}" --collection py --auto-ingest'
    with Session(folder, {"COLLECTION_SEARCH_HOME": str(home)}) as session:
        session.run(Block("a new user", 1, "sh", asked), {})
    return home


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(
    page: str,
    variables: dict[str, dict[str, str]],
    offline_index_folder: Path,
    filled_home: Path,
    tmp_path: Path,
):
    """Its blocks one after another, by the settings of a new user; guides speak of a collection."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    folder.mkdir()
    if "/guides/" in page or "/operations/" in page:
        shutil.copytree(filled_home, home)
    else:
        copy_offline_index(offline_index_folder, home)
    with Session(folder, {"COLLECTION_SEARCH_HOME": str(home)}) as session:
        for block in filter(runs, BLOCKS[page]):
            session.run(block, variables.get(block.kind, {}))


@pytest.mark.parametrize("block", ALL, ids=lambda block: block.place)
def test_a_block_is_of_a_known_kind(block: Block):
    """With a language, and a reason where it is not run."""
    assert block.language in LANGUAGES
    assert block.kind in KINDS
    if block.language == "text":
        assert block.is_output or block.kind == "illustration"
    if block.kind in ("skip", "file"):
        assert block.detail


@pytest.mark.parametrize(
    "block", [block for block in ALL if block.language == "python"], ids=lambda block: block.place
)
def test_python_can_stand_in_a_file(block: Block):
    """Which cannot await outside of a function; a cell of a notebook can."""
    if block.kind != "notebook":
        compile(block.code, block.place, "exec")


@pytest.mark.parametrize(
    "block",
    [block for block in ALL if block.language == "sh" and block.kind in NOT_RUN],
    ids=lambda block: block.place,
)
def test_commands_that_are_not_run_name_options_that_exist(block: Block):
    """Of our own command, also within compose and kubectl."""
    for line in block.code.replace("\\\n", " ").splitlines():
        _, found, called = line.partition("collection-search ")
        words = re.split(r"\s[>|#]|\s\s#", f" {called}")[0].split()
        if not found or not words or words[0] not in COMMANDS:
            continue
        command = get_command(app).get_command(None, words[0])
        known = options_of(command)
        for word in words[1:]:
            if subcommand := getattr(command, "get_command", lambda *_: None)(None, word):
                command, known = subcommand, known | options_of(subcommand)
            elif word.startswith("--"):
                assert word.partition("=")[0] in known, line


def options_of(command: Any) -> set[str]:
    """Return the options of a command."""
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize(
    "block",
    [block for block in ALL if block.language in ("yaml", "json", "toml")],
    ids=lambda block: block.place,
)
def test_data_can_be_read(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """YAML without a marker is a settings file, and is accepted."""
    if block.language == "toml":
        tomllib.loads(block.code)
    elif block.language == "json":
        lines = block.code.strip()
        json.loads(lines if lines.startswith("{") and lines.endswith("}") else f"{{{lines}}}")
    else:
        assert yaml.safe_load(block.code)
        if not block.kind:
            file = tmp_path / "collection-search.yaml"
            file.write_text(block.code, "utf-8")
            monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(file))
            Settings.load()
