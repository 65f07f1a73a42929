"""Where a benchmark ran, as the head of its Markdown report."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGES: Final = (
    "collection-search",
    "langgraph",
    "langchain-core",
    "pydantic",
    "aiohttp",
    "httpx",
    "httpx-aiohttp",
    "orjson",
    "numpy",
    "openai",
    "langchain-openai",
    "langfuse",
)


def environment(packages: Iterable[str] = PACKAGES) -> Iterator[str]:
    """Yield the lines of a Markdown list: time, machine, load, Python, versions."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    yield f"- {_processor()}, {cores} cores, {platform.system()} {platform.release()}"
    yield f"- {load()}"
    yield f"- {platform.python_implementation()} {platform.python_version()}"
    yield "- " + ", ".join(f"{name} {_version(name)}" for name in packages)


def keep_to_cores(*, last: bool) -> None:
    """Bind this process to the last core, or to all others, where the system lets it.

    The servers of a benchmark take the last one, so that they do not slow what is measured.
    """
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if len(cores) > 1:
        os.sched_setaffinity(0, {max(cores)} if last else cores - {max(cores)})


def keep_to_one_core() -> None:
    """Bind this process to the first core, where the system lets it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def load() -> str:
    """Return the machine's load average over 1, 5 and 15 minutes."""
    averages = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"load average {averages} (1, 5, 15 minutes)"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    name = re.search(r"model name\s*: (.+)", text)
    return name[1].strip() if name else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
