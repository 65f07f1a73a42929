"""The Dockerfile: what it copies, whom it runs as, and how its health is checked."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Final

import pytest
from support.deployment import DEPLOY, ROOT, compose_file, require_command

from collection_search import __version__
from collection_search.server.authentication import HEALTH

TEXT: Final = (DEPLOY / "Dockerfile").read_text("utf-8")
LINES: Final = [
    line for line in re.sub(r"\\\n\s*", " ", TEXT).splitlines() if line and not line.startswith("#")
]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def values(instruction: str) -> list[str]:
    """Return what stands after each of these instructions."""
    return [line.partition(" ")[2] for line in LINES if line.split()[0] == instruction]


def test_the_base_is_pinned():
    """Both stages have the same, which the package supports."""
    version = next(one for one in values("ARG") if one.startswith("PYTHON=")).partition("=")[2]
    assert re.fullmatch(r"3\.\d+\.\d+-slim", version)
    minor = ".".join(version.split(".")[:2])
    assert f"Programming Language :: Python :: {minor}" in PROJECT["classifiers"]
    assert values("FROM") == ["python:${PYTHON} AS build", "python:${PYTHON} AS runtime"]


def test_it_runs_as_nobody_special():
    """With the number that the manifests have."""
    assert values("USER") == ["10001:10001"]
    assert LINES.index("USER 10001:10001") < min(
        index for index, line in enumerate(LINES) if line.startswith(("CMD", "HEALTHCHECK"))
    )


def test_its_command_exists():
    """With its options, on the port that it tells."""
    (command,) = (json.loads(one) for one in values("CMD"))
    require_command(command)
    assert values("EXPOSE") == [command[-1]]


def test_its_health_is_asked_where_no_token_is_needed():
    """On the same port."""
    (check,) = values("HEALTHCHECK")
    (asked,) = re.findall(r"http://127\.0\.0\.1:(\d+)(/[\w/]+)", check)
    assert asked[0] in values("EXPOSE")
    assert asked[1] in HEALTH


def test_what_it_copies_is_sent():
    """The list of what is sent names each source, and each exists."""
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").split()
    sources = {
        source.removeprefix("./")
        for line in values("COPY")
        if not line.startswith("--from")
        for source in line.split()[:-1]
    }
    assert {f"!{one}" for one in sources} <= {*sent}
    assert all((ROOT / one).exists() for one in sources)
    assert sent[0] == "*"


@pytest.mark.parametrize("args", ["Dockerfile", "compose.yaml"])
def test_its_extras_exist(args: str):
    """Those of the file itself, and those that the compose file gives."""
    default = next(one for one in values("ARG") if one.startswith("EXTRAS=")).partition("=")[2]
    given = compose_file()["services"]["app"]["build"]["args"]["EXTRAS"]
    named = {*(default if args == "Dockerfile" else given).split(",")}
    assert named <= PROJECT["optional-dependencies"].keys()
    assert {"metrics", "postgres"} <= named


def test_its_version_is_ours():
    """It stands in the label and in the command that builds it."""
    assert f'image.version="{__version__}"' in TEXT
    assert f"--tag collection-search:{__version__} " in TEXT
