"""The handlers of signals, in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from support.waiting import wait_until

from collection_search.cli.shared.exit_codes import ExitCode, Interrupted, exit_code
from collection_search.cli.shared.signals import (
    STOP_S,
    STOP_SIGNALS,
    handle_signals,
    stop_grace_s,
    stop_in_order,
    stop_signal,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="has no such signals")


def watches() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "stop-watch"]


def test_a_command_without_a_signal_leaves_nothing_behind() -> None:
    before = [signal.getsignal(one) for one in STOP_SIGNALS]
    with stop_in_order():
        assert [signal.getsignal(one) for one in STOP_SIGNALS] != before
        assert watches()
    assert [signal.getsignal(one) for one in STOP_SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1
    wait_until(lambda: not watches())


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As `nohup` asks for."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_in_order(), handle_signals(lambda *_: None):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_sets_no_handlers() -> None:
    seen: list[object] = []

    def command() -> None:
        with stop_in_order():
            seen.extend(signal.getsignal(one) for one in STOP_SIGNALS)

    thread = threading.Thread(target=command)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(one) for one in STOP_SIGNALS]


def test_an_interrupt_without_a_signal_counts_as_ctrl_c() -> None:
    """Such as that of a library."""
    assert stop_signal() is None
    assert exit_code(Interrupted()) is ExitCode.INTERRUPTED
    assert stop_grace_s() == STOP_S


PROGRAM = """
import os, signal
from collection_search.cli.shared import signals

with signals.stop_in_order():
    signals._watch.by = {seen}
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        print("went on")
    except KeyboardInterrupt:
        print("interrupted")
        os.kill(os.getpid(), signal.SIGHUP)
        print("not again")
"""


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        ("None", ["interrupted", "not again"]),
        ("signal.SIGTERM", ["interrupted", "not again"]),  # the watch's thread was faster
        ("signal.SIGINT", ["went on"]),  # the command is stopping already
    ],
)
def test_one_signal_interrupts_once(seen: str, says: list[str]) -> None:
    program = PROGRAM.format(seen=seen)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, timeout=120
    )
    assert ended.stdout.decode().split("\n")[:-1] == says, ended.stderr
