"""The compose file: its form, what reaches what, and what each service may use."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any, Final

import jsonschema
import pytest
import yaml
from support.deployment import (
    DEPLOY,
    PRODUCT,
    compose_file,
    compose_schema,
    require_command,
    seconds,
)

from collection_search import __version__
from collection_search.cli.shared.signals import _RELEASE_S, TERMINATION_LIMIT_S
from collection_search.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

COMPOSE: Final = compose_file()
SERVICES: Final[dict[str, Any]] = COMPOSE["services"]
OURS: Final = [name for name, one in SERVICES.items() if one["image"].startswith(PRODUCT)]
THEIRS: Final = sorted(SERVICES.keys() - {*OURS})
WRITES_AT_START: Final = {"rabbitmq", "searxng"}
"""Images whose start writes into folders that no volume can replace."""


def networks(service: str) -> set[str]:
    """Return the networks of a service."""
    return set(SERVICES[service]["networks"])


def neighbours(service: str) -> set[str]:
    """Return the other services that share a network with this one on which services may talk."""
    options = {
        name: (one or {}).get("driver_opts", {}) for name, one in COMPOSE["networks"].items()
    }
    quiet = {
        name
        for name, one in options.items()
        if one.get("com.docker.network.bridge.enable_icc") == "false"
    }
    own = networks(service) - quiet
    return {other for other in SERVICES if other != service and own & networks(other)}


def test_it_has_the_form_of_the_specification():
    """The schema is that of the compose specification."""
    jsonschema.validate(COMPOSE, compose_schema())


def test_the_schema_refuses_a_mistake():
    """A misspelt key is not passed over."""
    wrong = {**COMPOSE, "services": {"app": {"imgae": "x"}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, compose_schema())


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_is_pinned(name: str):
    """Ours by our version, others' by a whole version."""
    tag = SERVICES[name]["image"].partition(":")[2]
    assert tag == __version__ if name in OURS else re.match(r"v?\d+\.\d+\.\d+", tag)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_limits(name: str):
    """No privileges, a ceiling of what it uses, and a check whether it works."""
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is (name not in WRITES_AT_START)
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
    assert service["restart"] == "unless-stopped"
    assert service["logging"]["options"]["max-size"]
    assert "privileged" not in service
    if name in THEIRS:
        assert service["healthcheck"]["test"]


@pytest.mark.parametrize("name", OURS)
def test_our_services_stop_in_order(name: str):
    """Docker waits longer than the command takes at most."""
    grace = seconds(SERVICES[name]["stop_grace_period"])
    assert grace >= TERMINATION_LIMIT_S + _RELEASE_S


@pytest.mark.parametrize("name", [name for name in OURS if name != "aegra"])
def test_a_command_exists(name: str):
    """With its options."""
    require_command(SERVICES[name]["command"])


def test_only_the_app_has_a_port_outside():
    """On the loopback interface."""
    ports = {name: one["ports"] for name, one in SERVICES.items() if "ports" in one}
    assert ports == {"app": ["127.0.0.1:8080:8080"]}


@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("worker", {"postgres", "worker-celery"}),
        ("worker-celery", {"postgres", "rabbitmq", "worker"}),
        ("prometheus", {"app", "rabbitmq"}),
        ("redis", {"aegra"}),
        ("rabbitmq", {"app", "worker-celery", "prometheus"}),
    ],
)
def test_a_service_reaches_what_it_needs(name: str, reached: set[str]):
    """And no other one: a worker that a page took over finds neither app nor Prometheus."""
    assert neighbours(name) == reached


@pytest.mark.parametrize("name", ["postgres", "rabbitmq", "redis", "prometheus"])
def test_an_engine_has_no_way_out(name: str):
    """Its networks are internal."""
    assert all(COMPOSE["networks"][one].get("internal") for one in networks(name))


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_names_exists(name: str):
    """Networks, volumes, secrets and the services that it waits for."""
    service = SERVICES[name]
    sources = {one if isinstance(one, str) else one["source"] for one in service.get("secrets", ())}
    named = {one.split(":")[0] for one in service.get("volumes", ())}
    assert networks(name) <= COMPOSE["networks"].keys()
    assert sources <= COMPOSE["secrets"].keys()
    assert {one for one in named if "/" not in one} <= COMPOSE["volumes"].keys()
    assert all((DEPLOY / one).is_file() for one in named if one.startswith("./"))
    for other in service.get("depends_on", ()):
        assert networks(name) & networks(other)


def test_the_ports_match():
    """Of the app, its page, its health, and what Prometheus asks of it and of RabbitMQ."""
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    ports = {}
    for job in config["scrape_configs"]:
        (target,) = job["dns_sd_configs"]
        (name,) = target["names"]
        ports[name] = target["port"]
        assert networks("prometheus") & networks(name)
    assert ports == {"app": 8080, "rabbitmq": 15692}
    assert SERVICES["app"]["command"][-1] == "8080"


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    """The folder that the script makes."""
    for _ in range(2):
        subprocess.run(
            ["sh", DEPLOY / "new-secrets.sh"],
            env={"SECRETS": str(tmp_path / "secrets"), "PATH": "/usr/bin:/bin"},
            check=True,
            capture_output=True,
        )
    return tmp_path / "secrets"


def test_the_script_makes_every_secret(secrets: Path):
    """In a folder that others cannot open; they are random, and a second call changes nothing."""
    wanted = {one["file"].removeprefix("secrets/") for one in COMPOSE["secrets"].values()}
    made = {path.name: path.read_text("utf-8") for path in secrets.iterdir()}
    assert wanted <= made.keys()
    assert secrets.stat().st_mode & 0o777 == 0o700
    passwords = [text for name, text in made.items() if name.endswith("_password")]
    assert len({*passwords}) == len(passwords)
    assert all(re.fullmatch("[0-9a-f]{48}", one) for one in passwords)


def test_the_settings_file_is_one(secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its password is that of the database's user, and its hosts are services."""
    given = yaml.safe_load((secrets / "collection-search.yaml").read_text("utf-8"))
    path = tmp_path / "settings.yaml"
    path.write_text(yaml.safe_dump(given), "utf-8")
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(path))
    password = (secrets / "database_password").read_text("utf-8")
    assert f":{password}@postgres:5432/collection_search" in Settings.load().postgres_url()
    hosts = {re.search(r"@(\w+):\d+/", one)[1] for one in given.values()}  # type: ignore[index]
    assert hosts <= SERVICES.keys()
