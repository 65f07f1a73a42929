"""docs/operations/deploy.md: its commands name what exists."""

from __future__ import annotations

import re
import shlex
from typing import Final

import jsonschema
import pytest
import yaml
from support.deploy_page import PAGE, blocks, command_lines
from support.deployment import (
    PRODUCT,
    ROOT,
    compose_file,
    compose_schema,
    manifests,
    require_command,
)

from collection_search.cli.shared.signals import TERMINATION_LIMIT_S, TERMINATION_S

LINES: Final = command_lines()
COMPOSE: Final = compose_file()
VERBS: Final = {"build", "exec", "start", "stop", "up"}
OBJECTS: Final = {f"{one['kind'].lower()}/{one['metadata']['name']}" for one in manifests()}
SECRETS: Final = {one["metadata"]["name"] for one in manifests() if one["kind"] == "Secret"}
PROGRAMS: Final = {"collection-search", "cp", "docker", "export", "kubectl", "sh"}
DATABASE: Final = {"pg_dump", "pg_restore"}


def lines_of(*start: str) -> list[list[str]]:
    """Return the rest of each line that begins so."""
    return [line[len(start) :] for line in LINES if tuple(line[: len(start)]) == start]


def test_every_line_is_understood():
    """A line of another program would be tested by nobody."""
    assert {line[0] for line in LINES} == PROGRAMS
    assert lines_of("docker", "compose", "-f")
    assert lines_of("kubectl")


@pytest.mark.parametrize("line", lines_of("docker", "compose"), ids=" ".join)
def test_a_compose_command_names_services(line: list[str]):
    """And profiles, and commands of ours that exist."""
    assert line[:2] == ["-f", "deploy/compose.yaml"]
    rest = line[2:]
    while rest[0] == "--profile":
        profiles = {
            name for one in COMPOSE["services"].values() for name in one.get("profiles", ())
        }
        assert rest[1] in profiles
        rest = rest[2:]
    assert rest[0] in VERBS
    named = [word for word in rest[1:] if not word.startswith("-")]
    if rest[0] != "exec":
        assert {*named} <= COMPOSE["services"].keys()
        return
    service, *command = named[:1] + rest[rest.index(named[0]) + 1 :]
    assert service in COMPOSE["services"]
    if service == "app":
        require_command(command)
    else:
        assert service == "postgres"
        assert command[0] in DATABASE


@pytest.mark.parametrize("line", lines_of("kubectl"), ids=" ".join)
def test_a_kubectl_command_names_what_exists(line: list[str]):
    """Files, objects and secrets."""
    for word, after in zip(line, [*line[1:], ""], strict=True):
        if word == "-n":
            assert f"namespace/{after}" in OBJECTS
        if word in {"-f", "-k"}:
            path = ROOT / after
            assert path.is_file() if word == "-f" else (path / "kustomization.yaml").is_file()
        if word.startswith(("deployment/", "job/")):
            assert word in OBJECTS
        if word == "generic":
            assert after in SECRETS


@pytest.mark.parametrize("line", lines_of("docker", "build"), ids=" ".join)
def test_the_image_is_built_from_the_root(line: list[str]):
    """With the file that there is."""
    assert (ROOT / line[line.index("--file") + 1]).is_file()
    assert line[-1] == "."


def test_our_commands_exist():
    """With their arguments, also those in a sentence."""
    sentences = re.findall("`(collection-search [^`]+)`", PAGE)
    for line in (*map(shlex.split, sentences), *(one for one in LINES if one[0] == PRODUCT)):
        require_command(line)
    for name in ("sh", "cp"):
        for line in lines_of(name):
            assert (ROOT / line[0]).is_file()


def test_the_file_beside_the_compose_file_is_one():
    """Together they have the form of the specification."""
    (text,) = blocks("yaml")
    added = yaml.safe_load(text)
    jsonschema.validate(added, compose_schema())
    assert added["services"].keys() <= COMPOSE["services"].keys()


def test_the_times_are_those_of_the_code():
    """What a stop may take, for the reader who sets a grace period."""
    assert f"A worker gives pages in hand {TERMINATION_S:g} s and ends within" in PAGE
    assert f"within {TERMINATION_LIMIT_S:g}; its pod" in PAGE
    assert f"has {grace('worker')} s" in PAGE
    assert f"has {grace('app')} s" in PAGE


def grace(name: str) -> int:
    """Return how long a pod of this deployment has."""
    (found,) = (
        one for one in manifests() if (one["kind"], one["metadata"]["name"]) == ("Deployment", name)
    )
    return found["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]


def test_the_connections_are_those_of_the_code():
    """And all processes that the files allow fit into the database's limit."""
    from collection_search.adapters.checkpoints import postgres as checkpoints
    from collection_search.adapters.stores.postgres import (
        database,
        request_turns,
        run_history,
        usage,
    )

    each = sum(one.MAX_CONNECTIONS for one in (database, usage, request_turns))
    more = run_history.MAX_CONNECTIONS + checkpoints.MAX_CONNECTIONS
    assert f"up to {each} connections, a server {more} more" in PAGE
    most = {
        one["metadata"]["name"]: one["spec"]["maxReplicas"]
        for one in manifests()
        if one["kind"] == "HorizontalPodAutoscaler"
    }
    needed = most["app"] * (each + more) + most["worker"] * each
    (limit,) = (
        int(word.partition("=")[2])
        for word in COMPOSE["services"]["postgres"]["command"]
        if word.startswith("max_connections=")
    )
    assert f"{most['app']} servers and {most['worker']} workers are {needed} of {limit}" in PAGE
    assert needed <= limit - 20


def numbers(after: str) -> list[list[float]]:
    """Return the numbers of the first table after these words, row by row."""
    table = PAGE[PAGE.index(after) :].split("|---|", 1)[1].split("\n\n", 1)[0]
    rows = [line.strip("|").split("|") for line in table.splitlines()[1:]]
    return [[float(re.sub(r"[^\d.]", "", cell)) for cell in row] for row in rows]


def test_what_is_computed_follows_from_what_is_measured():
    """The sums of a chunk, and what a cell has of a billion chunks and ten thousand tenants."""
    chunks = {row[0]: row for row in numbers("What a chunk of 1,200 characters takes")}
    for _, *parts, whole, _, _ in chunks.values():
        assert sum(parts) == whole
    for size, tables, hnsw, cells, tenants, millions, gb, hnsw_gb, hours in numbers(
        "How many, where"
    ):
        *_, whole, each, built_s = chunks[size]
        assert tables == pytest.approx(whole / 1000, rel=0.02)
        assert hnsw == pytest.approx(each / 1000, rel=0.03)
        assert hnsw_gb <= 48 * 1.024**3
        assert tenants == pytest.approx(10_000 / cells, abs=1)
        assert millions == pytest.approx(1000 / cells, rel=0.02)
        assert gb == pytest.approx(1000 * whole / 1000 / cells, rel=0.02)
        assert hnsw_gb == pytest.approx(each / cells, rel=0.02)
        assert hours == pytest.approx(built_s / 20_000 * 1e9 / cells / 3600, rel=0.05)


def test_every_link_leads_somewhere():
    """To a page, or to a heading of this one."""
    headings = {
        re.sub(r"[^\w -]", "", line.strip("# ").lower()).replace(" ", "-")
        for line in PAGE.splitlines()
        if line.startswith("#")
    }
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        page, _, heading = target.partition("#")
        assert (ROOT / "docs" / "operations" / page).exists() if page else heading in headings
