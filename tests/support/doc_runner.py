"""A child process that runs the Python blocks of one page in one namespace.

It reads lines of JSON (`code`, `cwd`, `env`) and answers each with one (`printed`, `error`). Cells of a notebook
may await.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries write to the file descriptor is no answer
    requests, sys.stdin = sys.stdin, io.StringIO("\n" * 10)  # a reader who presses Enter
    names: dict[str, Any] = {"__name__": "__main__"}
    sys.stdout = printed = io.StringIO()  # one for all blocks: handlers of logs keep it
    with asyncio.Runner() as runner:
        for line in requests:
            request = json.loads(line)
            os.chdir(request["cwd"])
            os.environ.update(request["env"])
            answers.write(json.dumps(_answer(request["code"], names, runner, printed)) + "\n")
            answers.flush()


def _answer(
    code: str, names: dict[str, Any], runner: asyncio.Runner, printed: io.StringIO
) -> dict[str, str | None]:
    before, error = printed.tell(), None
    try:
        run_code(code, names, runner)
    except BaseException:  # noqa: BLE001 - told to the test, whatever it is
        error = traceback.format_exc()
    return {"printed": printed.getvalue()[before:], "error": error}


def run_code(code: str, names: dict[str, Any], runner: asyncio.Runner) -> None:
    """Run one block or cell; it may await."""
    compiled = compile(code, "<block>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if compiled.co_flags & inspect.CO_COROUTINE:
        runner.run(_awaited(compiled, names))
    else:
        exec(compiled, names)


async def _awaited(compiled: Any, names: dict[str, Any]) -> None:
    await eval(compiled, names)


if __name__ == "__main__":
    main()
