"""An example that cannot run says in one sentence why, and leaves nothing behind."""

from __future__ import annotations

import sys
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from support.example_modules import example_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

program = example_module("program")

EXAMPLES = ("agent", "supervisor", "openai_loop", "anthropic_loop", "arrow_loop")
VENDOR = {"openai_loop": "", "anthropic_loop": ""}
UNREACHABLE = "http://127.0.0.1:9"


def arguments_of(name: str, *more: str) -> list[str]:
    """Return arguments that name a model in the form which the example takes."""
    return ["--model", f"{VENDOR.get(name, 'openai:')}some-model", *more]


class Page(BaseHTTPRequestHandler):
    """A web page at every address."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html>Log in</html>")

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def page_server() -> Iterator[str]:
    """Serve the page; yields the address."""
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def end_of(name: str, given: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    """Return exit code and error of an example, which prints nothing else there."""
    with pytest.raises(SystemExit) as ended:
        example_module(name).main(given)
    return ended.value.code, capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_missing_key_is_named(name: str, capsys: pytest.CaptureFixture[str]):
    """With its variable, in one line."""
    code, told = end_of(name, arguments_of(name), capsys)
    vendor = "ANTHROPIC" if name == "anthropic_loop" else "OPENAI"
    assert code == 2
    assert told == (
        f"error: {vendor}_API_KEY is not set. An endpoint that needs no key takes any value.\n"
    )


def test_a_missing_key_may_be_told_by_the_endpoint_alone(capsys: pytest.CaptureFixture[str]):
    """Some clients ask without one."""
    given = ["--model", "anthropic:some-model"]
    with pytest.raises(SystemExit) as ended, program.run_program("A test.", given):
        raise RefusedError(401, "https://a.example/v1")
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: ANTHROPIC_API_KEY is not set.")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_web_page_in_place_of_an_answer_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """As where the path of the address is forgotten."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    with page_server() as address:
        code, told = end_of(name, arguments_of(name, "--base-url", address), capsys)
    assert "The address of the model answers with a web page. Check the path" in f"{code} {told}"
    assert "Traceback" not in told


def test_an_address_of_a_model_is_not_for_the_script(capsys: pytest.CaptureFixture[str]):
    """No argument is ignored."""
    given = ["--offline", "--base-url", UNREACHABLE]
    code, told = end_of("agent", given, capsys)
    assert (code, "--base-url: not allowed with argument --offline" in told) == (2, True)


def test_a_path_that_is_not_there_is_told_what_is_usual(capsys: pytest.CaptureFixture[str]):
    """With OpenAI's protocol the address ends with /v1."""
    with pytest.raises(SystemExit) as ended, program.run_program("A test.", arguments_of("agent")):
        raise RefusedError(404, "https://a.example/chat/completions")
    assert ended.value.code == 1
    assert "it usually ends with /v1." in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_endpoint_that_is_not_there_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """With its address and what to check, in one line and without the key."""
    for vendor in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{vendor}_API_KEY", "sk-of-the-test")
        monkeypatch.setenv(f"{vendor}_BASE_URL", UNREACHABLE)
    code, told = end_of(name, arguments_of(name), capsys)
    assert code == 1
    assert told.startswith(f"error: The model's endpoint {UNREACHABLE}/")
    assert told.endswith("_BASE_URL.\n")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "package"), [("anthropic_loop", "anthropic"), ("agent", "langchain.agents")]
)
def test_a_missing_package_is_named(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, package, None)
    code, told = end_of(name, ["--offline"], capsys)
    name = package.partition(".")[0]
    assert (code, told) == (2, f"error: The package {name} is missing: pip install {name}\n")


def test_an_unknown_model_is_told_the_form(capsys: pytest.CaptureFixture[str]):
    """In one line."""
    code, told = end_of("agent", ["--model", "no-such-model"], capsys)
    assert code == 2
    assert told.startswith("error: --model no-such-model cannot be used: ")
    assert told.endswith("Write vendor:model, such as openai:gpt-5.4-mini.\n")


def test_wrong_settings_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Before any model is asked."""
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", "/no/such/file")
    code, told = end_of("agent", ["--model", "openai:some-model"], capsys)
    assert (code, told.count("\n")) == (2, 1)
    assert told.startswith("error: COLLECTION_SEARCH_CONFIG names")


class RefusedError(Exception):
    """An error of a vendor's client."""

    def __init__(self, status: int, url: str) -> None:
        super().__init__("Error code: 401 - Incorrect API key provided: sk-proj-0123456789abcdef")
        self.status_code = status
        self.request = type("Request", (), {"url": url})()


def test_a_refused_key_is_not_shown(capsys: pytest.CaptureFixture[str]):
    """Neither in the vendor's message nor in the address."""
    with pytest.raises(SystemExit) as ended, program.run_program("A test.", ["--offline"]):
        raise RefusedError(401, "https://name:password@a.example/v1")
    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert "a.example/v1 failed: Error code: 401" in told
    assert "password" not in told
    assert "0123456789abcdef" not in told


def test_a_client_that_raises_its_transports_errors_is_explained_too(
    capsys: pytest.CaptureFixture[str],
):
    """The address is that of the request."""
    request = httpx.Request("POST", UNREACHABLE)
    with pytest.raises(SystemExit) as ended, program.run_program("A test.", ["--offline"]):
        raise httpx.ConnectError("All connection attempts failed", request=request)
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        f"error: The model's endpoint {UNREACHABLE} failed: All connection attempts failed."
        " Check --base-url.\n"
    )


def test_a_mistake_in_an_example_keeps_its_traceback():
    """Who changes an example needs it."""
    with pytest.raises(KeyError), program.run_program("A test.", ["--offline"]):
        raise KeyError("choices")


def test_an_interrupt_ends_quietly(capsys: pytest.CaptureFixture[str]):
    """With the code of an interrupted command."""
    with pytest.raises(SystemExit) as ended, program.run_program("A test.", ["--offline"]):
        raise KeyboardInterrupt
    assert (ended.value.code, capsys.readouterr().err) == (130, "error: Interrupted.\n")


def test_offline_means_the_defaults_in_a_folder_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Whatever the machine has configured; the folder is removed at the end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", "/no/such/file")
    monkeypatch.setenv("COLLECTION_SEARCH_TENANT", "acme")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-of-the-test")
    with program.run_program("A test.", ["--offline"]) as run:
        assert run.settings.home.parent == tmp_path
        assert run.settings.home.is_dir()
        assert (run.settings.provider, run.settings.tenant) == ("offline", "local")
        assert run.settings.langfuse_public_key is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("agent", "as vendor:model, such as openai:gpt-5.4-mini or ollama:qwen3"),
        ("openai_loop", "name of the model at the endpoint, such as gpt-5.4-mini"),
        ("anthropic_loop", "name of the model at the endpoint, such as claude-sonnet-5-5"),
    ],
)
def test_the_help_says_how_a_model_is_written(
    name: str, form: str, capsys: pytest.CaptureFixture[str]
):
    """With an example that can be copied."""
    with pytest.raises(SystemExit):
        example_module(name).main(["--help"])
    told = " ".join(capsys.readouterr().out.split()).replace("- ", "-")  # lines end after hyphens
    assert form in told


@pytest.mark.parametrize("model", ["", "mistralai:some-model"])
def test_without_a_model_an_example_says_what_to_give(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """No vendor's model is asked by default; a client asks no other vendor's."""
    monkeypatch.setenv("COLLECTION_SEARCH_MODEL", model)
    code, told = end_of("openai_loop", ["asyncio?"], capsys)
    assert code == 2
    assert told == (
        "error: No model of openai is named: give --model or --offline, or set"
        " COLLECTION_SEARCH_MODEL.\n"
    )


@pytest.mark.parametrize(
    ("vendor", "name"), [(None, "openai:some-model"), ("openai", "some-model")]
)
def test_the_model_of_the_settings_is_the_default(
    vendor: str | None, name: str, monkeypatch: pytest.MonkeyPatch
):
    """A vendor's client takes the name alone."""
    monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "openai:some-model")
    with program.run_program("A test.", ["asyncio?"], vendor=vendor) as run:
        assert run.model == name
