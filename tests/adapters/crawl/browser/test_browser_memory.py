"""What the processes of a browser have in memory."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from support.scripted_pages import ended

from collection_search.adapters.crawl.browser.browser_memory import (
    arguments_of,
    kill_below,
    memory_below,
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
PARENT = """
import subprocess, sys
child = "a = bytearray(b'x' * 60_000_000); print('ready', flush=True); input()"
subprocess.run([sys.executable, "-c", child])
"""


@pytest.mark.slow
async def test_the_memory_of_descendants_counts() -> None:
    """And they are killed with their ancestor."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    assert 60_000_000 < memory_below(process.pid) < 200_000_000
    assert arguments_of(process.pid)[1:] == ["-c", PARENT]
    kill_below(process.pid)
    await process.wait()
    assert await ended({process.pid}) == set()


def test_a_process_that_has_ended_has_none() -> None:
    """No error is raised for it."""
    nobody = 2**30
    assert memory_below(nobody) == 0
    assert arguments_of(nobody) == []
    kill_below(nobody)
