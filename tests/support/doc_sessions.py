"""Runs the code blocks of a page as its reader would: in one folder, one after another."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from filelock import FileLock

from .doc_blocks import ROOT, Block, matches
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT_S: Final = 120.0
"""For one block: long, since only a block that hangs waits to the end."""
_LISTENS: Final = re.compile(r"https?://(?:127\.0\.0\.1|0\.0\.0\.0|localhost):(\d+)")
_PIP: Final = """#!{python}
import sys
sys.path.insert(0, {tests!r})
from support.doc_sessions import check_installation
sys.exit(check_installation(sys.argv[1:]))
"""


class Session:
    """One page's folder, variables, Python process and servers."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._cwd = folder
        self._programs = folder / ".venv" / "bin"
        self._lock = FileLock(folder.parents[2] / "doc-server.lock")  # of all workers of the suite
        self._variables = self._surroundings() | dict(variables)
        self._open = ExitStack()
        self._python: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._programs.mkdir(parents=True)
        for name in ("examples", "deploy"):
            shutil.copytree(ROOT / name, self._folder / name)
        shutil.copy(ROOT / "langgraph.json", self._folder)
        for name, module in (("collection-search", "collection_search"), ("python", "")):
            option = f"-m {module} " if module else ""
            self._program(name, f'#!/bin/sh\nexec {sys.executable} {option}"$@"\n')
        for name in ("langgraph", "sphinx-build"):
            real = Path(sys.executable).parent / name
            self._program(name, f'#!/bin/sh\nexec {real} "$@"\n')
        self._program("pip", _PIP.format(python=sys.executable, tests=str(ROOT / "tests")))
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._open.close()

    def run(self, block: Block, variables: Mapping[str, str]) -> None:
        """Run one block. Raises AssertionError when it fails or prints something else."""
        code = block.code
        if block.kind == "file":
            (self._cwd / block.detail).write_text(block.code, "utf-8")
            return
        self._variables |= variables
        for name in variables:  # the reader puts a key there
            code = re.sub(rf"^export {name}=.*$", "", code, flags=re.MULTILINE)
        if block.language == "python":
            printed, error = self._run_python(code)
        elif block.kind == "server":
            printed, error = self._serve(code)
        else:
            printed, error = self._run_shell(code, block.exit_code)
        told = f"{block.place}\n{printed}\n{error or ''}"
        assert error is None, told
        assert block.output is None or matches(block.output, printed), (
            f"{block.place} prints something else than\n{block.output}\nnamely\n{printed}"
        )

    def _surroundings(self) -> dict[str, str]:
        path = os.pathsep.join((str(self._programs), os.environ["PATH"]))
        here = {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1"}
        return {**os.environ, **here}

    def _program(self, name: str, text: str) -> None:
        path = self._programs / name
        path.write_text(text, "utf-8")
        path.chmod(0o755)

    def _run_shell(self, code: str, exit_code: int = 0) -> tuple[str, str | None]:
        """Run a script by bash; its variables and folder stay for the blocks that follow."""
        kept = self._folder / ".kept"
        ended = f"{{ pwd; env -0; }} > '{kept}'"
        run = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", f'trap "{ended}" EXIT\n{code}'],
            cwd=self._cwd,
            env=self._variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        folder, _, variables = kept.read_text("utf-8").partition("\n")
        self._cwd = Path(folder)
        self._variables = dict(pair.split("=", 1) for pair in variables.split("\0") if pair)
        error = None if run.returncode == exit_code else f"exit code {run.returncode}\n{run.stderr}"
        return run.stdout, error

    def _run_python(self, code: str) -> tuple[str, str | None]:
        if self._python is None:
            self._python = self._open.enter_context(
                subprocess.Popen(
                    [sys.executable, str(ROOT / "tests" / "support" / "doc_runner.py")],
                    cwd=self._cwd,
                    env=self._variables,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            self._open.callback(self._python.kill)
        assert self._python.stdin is not None
        request = {"code": code, "cwd": str(self._cwd), "env": self._variables}
        self._python.stdin.write(json.dumps(request) + "\n")
        self._python.stdin.flush()
        line = _line_of(self._python)
        answer: dict[str, Any] = json.loads(line or '{"printed": "", "error": "it ended or hung"}')
        return answer["printed"], answer["error"]

    def _serve(self, code: str) -> tuple[str, str | None]:
        """Run all but the last command, then start that one and wait until it listens."""
        before, last = _split_last(code)
        printed, error = self._run_shell(before)
        if error:
            return printed, error
        self._open.enter_context(self._lock)  # the port is that of the documentation
        process = subprocess.Popen(
            ["bash", "-c", f"exec {last}"],
            cwd=self._cwd,
            env=self._variables | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._open.callback(_stop, process)
        told = ""
        while not _LISTENS.search(told):
            line = _line_of(process)
            if not line:
                return printed, f"{last} ended:\n{told}"
            told += line
        port = int(_LISTENS.search(told)[1])
        wait_until(lambda: _accepts(port), LIMIT_S)
        return printed, None


def check_installation(arguments: list[str]) -> str | None:
    """Return why something cannot be installed; extras of ours and what the dev extra has can."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    known = re.findall(r"[\w.-]+", " ".join(project["optional-dependencies"]["dev"]).lower())
    known += [re.split(r"[\[<>=~ ]", name)[0].lower() for name in project["dependencies"]]
    named = [argument for argument in arguments[1:] if not argument.startswith("-")]
    for name in named:
        found = re.fullmatch(r"(.*?)(?:\[([\w,]+)\])?", name)
        assert found is not None
        if found[1].endswith("collection-search") or found[1] in (".", "./"):
            if unknown := set((found[2] or "").split(",")) - extras - {""}:
                return f"no extra {unknown}"
        elif found[1].lower() not in known and not (Path.cwd() / found[1]).exists():
            return f"{name} is not in the dev extra"
    return None


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _split_last(code: str) -> tuple[str, str]:
    """Return the script without its last command, and that."""
    lines = [line for line in code.replace("\\\n", " ").splitlines() if line.strip()]
    last = re.sub(r"\s+# .*$", "", lines[-1])
    return "\n".join(lines[:-1]), last


def _line_of(process: subprocess.Popen[str]) -> str:
    """Return the next line that the process prints, an empty one where it ended or hangs."""
    assert process.stdout is not None
    limit = threading.Timer(LIMIT_S, process.kill)
    limit.start()
    try:
        return process.stdout.readline()
    finally:
        limit.cancel()


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
