"""What the files of deploy/ and their page name: settings that exist, and no secret's value."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from support.deployment import DEPLOY, ROOT, compose_file, manifests, require_command

from collection_search.cli.shared.near_names import ClickUsageError
from collection_search.settings import CONFIG_VARIABLE, PREFIX, Settings
from collection_search.settings.sources import vendor_part

FILES: Final = [
    path
    for path in (*sorted(DEPLOY.rglob("*")), ROOT / "docs" / "operations" / "deploy.md")
    if path.is_file() and "secrets" not in path.parts and path.name != ".env"
]
SETTINGS: Final = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | {CONFIG_VARIABLE}
SECRET: Final = re.compile("PASSWORD|SECRET|TOKEN|_KEY$|DATABASE_URL|BROKER_URL")
OPEN: Final = {"LANGFUSE_PUBLIC_KEY", "POSTGRES_PASSWORD_FILE"}
"""Names that look like those of secrets: a public key, and the path of a file."""


def environment() -> dict[str, Any]:
    """Return every variable that a container gets, and those of .env.example."""
    services = compose_file()["services"].values()
    given = {name: value for one in services for name, value in one.get("environment", {}).items()}
    for one in manifests():
        given |= one.get("data", {}) if one["kind"] == "ConfigMap" else {}
    lines = (DEPLOY / ".env.example").read_text("utf-8").splitlines()
    return given | dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_exists(path: Path):
    """A variable with our prefix is one of the table of settings."""
    named = {*re.findall(rf"\b{PREFIX}[A-Z_]*[A-Z]", path.read_text("utf-8"))}
    assert named <= SETTINGS


def test_the_variables_of_vendors_are_read():
    """Those that our containers get for us."""
    given = compose_file()["services"]["app"]["environment"].keys()
    others = {name for name in given if not name.startswith(PREFIX)}
    aliases = {
        str(other)
        for field in Settings.model_fields.values()
        if field.validation_alias
        for other in field.validation_alias.choices  # type: ignore[union-attr]
    }
    assert all(name in aliases or vendor_part(name) for name in others)


def test_every_variable_of_the_compose_file_is_explained():
    """In .env.example, and nothing else is."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    explained = dict.fromkeys(
        line.split("=")[0]
        for line in (DEPLOY / ".env.example").read_text("utf-8").splitlines()
        if "=" in line and line[0] != "#"
    )
    assert {*re.findall(r"\$\{(\w+)", text)} == explained.keys() - {"COMPOSE_PROFILES"}


def test_no_variable_has_a_secret():
    """Secrets are files; their names in a settings file are not variables."""
    assert not [
        name
        for name, value in environment().items()
        if value and SECRET.search(name) and name not in OPEN
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_address_has_a_password(path: Path):
    """One that is made by the script or chosen by the reader stands there as a variable."""
    found = re.findall(r"://[^\s/:@]*:([^\s/@]+)@", path.read_text("utf-8"))
    assert [one for one in found if not one.startswith(("$", "PASSWORD"))] == []


def test_the_secrets_of_kubernetes_are_a_template():
    """Nothing is in them."""
    secrets = [one for one in manifests() if one["kind"] == "Secret"]
    assert len(secrets) == 2
    assert not any(any(one.get("stringData", {}).values()) or "data" in one for one in secrets)


def test_what_is_made_is_not_committed():
    """Git leaves out the folder of the secrets and the file .env."""
    assert {*(DEPLOY / ".gitignore").read_text("utf-8").split()} >= {".env", "secrets/"}


def test_a_wrong_command_would_be_found():
    """What the tests of commands use refuses an unknown option."""
    with pytest.raises(ClickUsageError, match="--hots"):
        require_command(["collection-search", "serve", "--hots", "0.0.0.0"])


def test_prometheus_reads_its_token_from_a_file():
    """The file is one of the compose file's secrets."""
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    (job,) = (one for one in config["scrape_configs"] if one["job_name"] != "rabbitmq")
    assert job["authorization"].keys() == {"credentials_file"}
    assert Path(job["authorization"]["credentials_file"]).name in compose_file()["secrets"]
