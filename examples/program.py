"""What every example has around its answer: arguments, settings, model, errors as sentences."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from scripted import Script, ScriptedModel
from scripted_server import ScriptedServer
from transcript import Transcript

from collection_search import (
    CollectionSearchError,
    ConfigError,
    InputError,
    SearchContext,
    Settings,
)
from collection_search.adapters.search.offline import OfflineSearch
from collection_search.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.language_models import BaseChatModel

QUESTION = "How do I cancel an asyncio task after a timeout?"
OFFLINE = (
    "Offline: a scripted model, which makes the same calls for every question, searches the"
    " documentation of Python on this machine.\n"
    "Its index is built for this run alone, which takes about ten seconds."
)
ANY_VENDOR = (
    "chat model of LangChain's, as vendor:model, such as openai:gpt-5.4-mini or ollama:qwen3;"
    " the vendor's package must be installed"
)
NAMES = {"openai": "gpt-5.4-mini", "anthropic": "claude-sonnet-5-5"}
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
ADDRESSES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
PATHS = {"openai": "it usually ends with /v1", "anthropic": "it has no /v1 at its end"}
REFUSED_KEY = (401, 403)
NOT_FOUND = 404
ENDPOINT_FAILED = 1
WRONG_INPUT = 2
INTERRUPTED = 130
_NO_MODEL: Final = "The address of the model answers with a web page. Check the path of --base-url."
_ABOUT_KEYS = re.compile(r"api.?key|credential|authenticat", re.IGNORECASE)


class Arguments(NamedTuple):
    """The arguments of one example."""

    question: str
    model: str | None
    """None: that of the settings."""
    base_url: str | None
    """Address of the model's endpoint; None: the vendor's own."""
    offline: bool


class Program:
    """One run of an example: what it was given, what it searches with, and what it prints."""

    def __init__(self, arguments: Arguments, stack: ExitStack, vendor: str | None) -> None:
        self._arguments, self._stack = arguments, stack
        self.question = arguments.question
        self.settings = _offline_settings(stack) if arguments.offline else Settings.load()
        self.model = arguments.model or "scripted"
        if not arguments.model and not arguments.offline:
            self.model = _model_of(self.settings, vendor)
        self.context = SearchContext(settings=self.settings)
        self.transcript = Transcript()

    def chat_model(self, *script: Any) -> BaseChatModel:
        """Return LangChain's model of the given name; offline one that follows the script.

        Raises InputError for a name that LangChain does not know, ImportError for a vendor whose
        package is missing.
        """
        if self._arguments.offline:
            return ScriptedModel(script=self._offline_script(script))
        from langchain.chat_models import init_chat_model

        try:
            return init_chat_model(self.model, base_url=self._arguments.base_url)
        except ValueError as error:
            problem = _in_one_line(str(error).partition("\n\n")[0])
            raise InputError(
                f"--model {self.model} cannot be used: {problem} Write vendor:model, such as"
                f" openai:{NAMES['openai']}."
            ) from error

    def client_options(self, *script: Any) -> dict[str, Any]:
        """Return the arguments of a vendor's client; offline its endpoint follows the script."""
        if not self._arguments.offline:
            return {"base_url": self._arguments.base_url}
        server = self._stack.enter_context(ScriptedServer(self._offline_script(script)))
        for name in ("NO_PROXY", "no_proxy"):  # the proxy of this machine does not know it
            os.environ[name] = server.host
        return {"base_url": server.base_url, "api_key": "none"}

    def _offline_script(self, script: Sequence[Any]) -> Script:
        """Return the script, when the index that it searches is built: no search has to wait."""
        OfflineSearch.from_settings(self.settings).prepare()
        return Script(*script)


@contextmanager
def run_program(
    documentation: str | None, given: Sequence[str] | None, *, vendor: str | None = None
) -> Iterator[Program]:
    """Yield the program for the command line, or for the given arguments.

    `vendor` is that of the only client that the example uses. Exit codes: 1 where the endpoint of
    the model failed, 2 for wrong arguments or settings, and a key or package that is missing. A
    mistake in the example itself shows its traceback.
    """
    _accept_any_character()
    arguments, asked = _read_arguments(documentation, given, vendor), vendor or ""
    try:
        with ExitStack() as stack:
            program = Program(arguments, stack, vendor)
            asked = vendor or program.model.partition(":")[0]
            program.transcript.show_question(arguments.question)
            if arguments.offline:
                program.transcript.show_step(OFFLINE)
            yield program
    except KeyboardInterrupt as error:
        _end(INTERRUPTED, "Interrupted.", error)
    except Exception as error:
        end = _explain(error, asked)
        if end is None:
            raise
        _end(*end, error)


def require_message(answer: Any) -> Any:
    """Return what the model answered. Ends with exit code 1 where its endpoint gave a page."""
    if isinstance(answer, str):
        raise SystemExit(f"error: {_NO_MODEL}")
    return answer


def _read_arguments(
    documentation: str | None, given: Sequence[str] | None, vendor: str | None
) -> Arguments:
    description = (documentation or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "question", nargs="?", default=QUESTION, help=f"by default: {QUESTION}", metavar="QUESTION"
    )
    parser.add_argument(
        "--base-url", metavar="URL", help="address of the model's endpoint, if not the vendor's own"
    )
    model = parser.add_mutually_exclusive_group()
    form = ANY_VENDOR
    if vendor:
        form = f"name of the model at the endpoint, such as {NAMES[vendor]}"
    model.add_argument("--model", help=f"{form}; by default the setting COLLECTION_SEARCH_MODEL")
    model.add_argument(
        "--offline",
        action="store_true",
        help="a scripted model, and the documentation of this machine: no key, no network,"
        " nothing is kept",
    )
    arguments = Arguments(**vars(parser.parse_args(given)))
    if arguments.offline and arguments.base_url:
        parser.error("argument --base-url: not allowed with argument --offline")
    return arguments


def _model_of(settings: Settings, vendor: str | None) -> str:
    """Return the settings' model, for a vendor's client without the vendor. Raises InputError."""
    given = settings.model or ""
    name = given.removeprefix(f"{vendor}:") if vendor else given
    if not name or (vendor and name == given):
        of_vendor = f" of {vendor}" if vendor else ""
        raise InputError(
            f"No model{of_vendor} is named: give --model or --offline, or set"
            " COLLECTION_SEARCH_MODEL."
        )
    return name


def _offline_settings(stack: ExitStack) -> Settings:
    """Return the defaults, whatever this machine has configured, with a folder of this run."""
    folder = stack.enter_context(
        TemporaryDirectory(prefix="collection-search-", ignore_cleanup_errors=True)
    )
    return Settings.model_construct(home=Path(folder), provider="offline", langfuse_tracing=False)


def _explain(error: Exception, vendor: str) -> tuple[int, str] | None:
    """Return exit code and sentence; None for a mistake in the program."""
    message = _in_one_line(str(error)) or type(error).__name__
    if isinstance(error, CollectionSearchError):
        is_input = isinstance(error, InputError | ConfigError)
        return (WRONG_INPUT if is_input else ENDPOINT_FAILED), message
    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        missing = f"The package {package} is missing: pip install {package}"
        return WRONG_INPUT, missing if package else message
    return _explain_model_error(error, message, vendor)


def _explain_model_error(error: Exception, message: str, vendor: str) -> tuple[int, str] | None:
    known = vars(error)  # what a vendor's client tells
    request, status = known.get("request") or known.get("_request"), known.get("status_code")
    is_about_key = status in REFUSED_KEY or (not request and _ABOUT_KEYS.search(message))
    if is_about_key and (variable := KEYS.get(vendor)) and not os.environ.get(variable):
        needless = "An endpoint that needs no key takes any value."
        return WRONG_INPUT, f"{variable} is not set. {needless}"
    if request:
        failed = f"The model's endpoint {redact(str(request.url))} failed: {message.rstrip('.')}."
        return ENDPOINT_FAILED, f"{failed} {_advise(status, vendor)}".rstrip()
    if is_about_key:
        return WRONG_INPUT, f"The model cannot be asked: {message}"
    if isinstance(error, ValueError) and "<html" in message.lower():  # as LangChain tells it
        return ENDPOINT_FAILED, _NO_MODEL
    if isinstance(error, OSError) or type(error).__module__ != "builtins":
        return ENDPOINT_FAILED, f"{type(error).__name__}: {message}"
    return None


def _advise(status: int | None, vendor: str) -> str:
    """Return what to check where the endpoint did not answer, or refused the key."""
    if status is None:
        return f"Check {' or '.join(filter(None, ['--base-url', ADDRESSES.get(vendor)]))}."
    if status == NOT_FOUND:
        return f"Check the path of the address: {PATHS.get(vendor, 'see its documentation')}."
    return f"Check {KEYS.get(vendor, 'the key')}." if status in REFUSED_KEY else ""


def _end(code: int, sentence: str, error: BaseException) -> NoReturn:
    print(f"error: {sentence}", file=sys.stderr)
    raise SystemExit(code) from error


def _in_one_line(text: str) -> str:
    return redact(" ".join(text.split()))


def _accept_any_character() -> None:
    """Let a terminal that does not know a character show another one."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
