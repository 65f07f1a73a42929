"""A RabbitMQ broker on this machine, from Debian's package `rabbitmq-server`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .ports import free_port
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS: Final = Path("/usr/lib/rabbitmq/bin")
"""Those of /usr/sbin switch to the system's own user and folders."""
_CONFIG: Final = """
listeners.tcp.1 = 127.0.0.1:{port}
loopback_users = none
log.console = true
log.file = false
"""
_LOOPBACK: Final = "[{kernel, [{inet_dist_use_interface, {127,0,0,1}}]}]."


def is_installed() -> bool:
    """Return whether the broker's programs are on this machine."""
    return (PROGRAMS / "rabbitmq-server").exists()


class RabbitMQServer:
    """A broker with a folder, a node name and ports of its own; `url` is that of its guest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._epmd_port = free_port()
        self._environment = self._described(free_port())
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"amqp://guest:guest@127.0.0.1:{self._port}//"

    def start(self) -> None:
        """Start the broker and wait until it answers."""
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAMS / "rabbitmq-server"],
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._answers)

    @property
    def pid(self) -> int:
        """Return the id of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End the broker at once, as a power cut does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the broker and its port mapper."""
        if self._process is not None:
            self._end(signal.SIGTERM)
            self._end(signal.SIGKILL)
        epmd = shutil.which("epmd") or "epmd"
        subprocess.run(
            [epmd, "-port", str(self._epmd_port), "-kill"],
            env=self._environment,
            capture_output=True,
            check=False,
        )

    def control(self, *arguments: str) -> str:
        """Return what `rabbitmqctl` prints."""
        command = [str(PROGRAMS / "rabbitmqctl"), "-q", *arguments]
        ended = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=True
        )
        return ended.stdout

    def _end(self, number: int) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)

    def _described(self, dist_port: int) -> dict[str, str]:
        """Return the environment that keeps the broker in its folder and on the loopback."""
        (self._folder / "rabbitmq.conf").write_text(_CONFIG.format(port=self._port))
        (self._folder / "advanced.config").write_text(_LOOPBACK)
        (self._folder / "enabled_plugins").write_text("[].")
        folder = str(self._folder)
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": folder,
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"n{self._port}@localhost",
            "RABBITMQ_DIST_PORT": str(dist_port),
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{folder}/advanced.config",
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": f"{folder}/pid",
        }

    def _answers(self) -> bool:
        from kombu import Connection

        try:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.connect()
        except OSError:
            return False
        return True


@contextmanager
def rabbitmq_server() -> Iterator[RabbitMQServer]:
    """Start a broker in a new folder, and remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="rabbitmq-"))
    server = RabbitMQServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
