"""Settings from file, environment and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError
from support.other_packages import install_package

from collection_search.errors import ConfigError
from collection_search.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


UNKNOWN = (
    "there is no such search provider; take one of brave, ddgs, .*, kagi, linkup, .*, or give an"
    " endpoint of your own its base_url and json_api$"
)
NOT_YET = "this version does not have this map yet; leave it out$"
PROVIDERS_AS_JSON = r"\. COLLECTION_SEARCH_PROVIDERS: give a map as JSON, such as '\{\"brave\": \{\"quota\": 2000\}\}'$"
WEB_SEARCH_AS_JSON = (
    r"\. COLLECTION_SEARCH_WEB_SEARCH: give a map as JSON, such as '\{\"settings\": \{.*\}\}'$"
)


@pytest.fixture(autouse=True)
def empty_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable and no file of this machine reaches a test."""
    import os

    for name in os.environ:
        if name.startswith(("COLLECTION_SEARCH_", "OPENAI_", "LANGFUSE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_defaults_need_no_key_and_no_server() -> None:
    """Out of the box everything is embedded and free."""
    settings = Settings.load()
    assert (settings.provider, settings.model, settings.embeddings) == ("auto", None, "lexical")
    assert settings.tenant == "local"
    assert settings.collections_path.parent == settings.home


def test_file_in_the_working_folder_is_read(tmp_path: Path) -> None:
    """`collection-search.yaml` sets what it names."""
    (tmp_path / "collection-search.yaml").write_text("tenant: acme\nsearch_timeout_s: 3\n")
    settings = Settings.load()
    assert (settings.tenant, settings.search_timeout_s) == ("acme", 3.0)


def test_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable overrides the file, an argument overrides both."""
    (tmp_path / "collection-search.yaml").write_text("tenant: acme\nprovider: offline\n")
    monkeypatch.setenv("COLLECTION_SEARCH_TENANT", "globex")
    assert Settings.load().tenant == "globex"
    assert Settings.load(tenant="initech").tenant == "initech"
    assert Settings.load().provider == "offline"


def test_config_variable_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """COLLECTION_SEARCH_CONFIG points to a file anywhere, and must exist."""
    elsewhere = tmp_path / "other.yaml"
    elsewhere.write_text("tenant: acme\n")
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(elsewhere))
    assert Settings.load().tenant == "acme"
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", str(tmp_path / "missing.yaml"))
    with pytest.raises(ConfigError, match=r"missing\.yaml"):
        Settings.load()


def test_vendor_variables_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and addresses are read under the vendors' own names, keys as secrets."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-value")
    monkeypatch.setenv("LANGFUSE_HOST", "http://127.0.0.1:3000")
    settings = Settings.load()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "sk-secret-value"
    assert "sk-secret" not in repr(settings)
    assert settings.langfuse_base_url == "http://127.0.0.1:3000"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ingest_workers: 0", "yaml: ingest_workers: give 1 or more"),
        ("tenannt: acme", "yaml: tenannt: there is no such setting; did you mean tenant\\?"),
        (
            "COLLECTION_SEARCH_TENANT: acme",
            "yaml: COLLECTION_SEARCH_TENANT: there is no such setting; did you mean tenant\\?",
        ),
        ("colour: blue", "yaml: colour: there is no such setting$"),
        (
            "providers: {tavily: {key: x}}",
            "yaml: providers.tavily.key: there is no such setting; did you mean api_key\\?",
        ),
        (
            "providers: {tavly: {quota: 1}}",
            "yaml: providers.tavly: there is no such search provider; did you mean tavily\\?",
        ),
        ("providers: {gopher: {quota: 1}}", f"yaml: providers.gopher: {UNKNOWN}"),
        ("providers: {intranet: {}}", f"yaml: providers.intranet: {UNKNOWN}"),
        (
            "providers: {intranet: }",
            "yaml: providers.intranet: give a map of names and values; possible names: api_key, .*json_api$",
        ),
        ("providers: true", "yaml: providers: give a map of names and values$"),
        ("web_search: true", "web_search: give a map .*; possible names: enabled, settings$"),
        ("prices: 3", "yaml: prices: give a map .*; possible names: chat, embedding, search$"),
        ("prices: {serach: {}}", "prices.serach: there is no such setting; did you mean search"),
        ("prices: {search: {brave: 3}}", "prices.search.brave: .*: per_thousand_requests$"),
        (
            "prices: {search: {brave: {per_thousand_requests: -1}}}",
            "yaml: prices.search.brave.per_thousand_requests: give 0 or more$",
        ),
        (
            "prices: {chat: {m: {input_per_million_tokens: 1}}}",
            "yaml: prices.chat.m.output_per_million_tokens: it is missing$",
        ),
        ("tenants: {acme: {}}", f"yaml: tenants: {NOT_YET}"),
        ("tenants:", f"yaml: tenants: {NOT_YET}"),
        ("tenants: {acme: {provider: brave}}", f"yaml: tenants: {NOT_YET}"),
        ("langfuse_tracing: perhaps", "yaml: langfuse_tracing: give true or false"),
        ('tenant: "a\\tb"', "tenant"),
        ("[", "yaml"),
        ("tavily_api_key: k", "no such setting; did you mean providers.tavily.api_key\\?"),
        ("opnai_api_key: k", "no such setting; did you mean openai_api_key\\?"),
        ("acme_api_key: k", "no such setting$"),
        ("1: x", r"yaml cannot be read as YAML\. Line 1, column 1: a name"),
        ("on: x", r"yaml cannot be read as YAML\. Line 1, column 1: a name"),
        ("- tenant", "yaml must hold one setting a line"),
        ("tenant", "yaml must hold one setting a line"),
        ("7", "yaml must hold one setting a line"),
    ],
)
def test_wrong_setting_is_named(tmp_path: Path, text: str, named: str) -> None:
    """A value out of range, a misspelt name or broken YAML is one ConfigError that names it."""
    (tmp_path / "collection-search.yaml").write_text(text)
    with pytest.raises(ConfigError, match=named):
        Settings.load()


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        (
            "COLLECTION_SEARCH_INGEST_WORKERS",
            "0",
            r"\. COLLECTION_SEARCH_INGEST_WORKERS: give 1 or more",
        ),
        ("LANGFUSE_TRACING_ENABLED", "perhaps", r"\. LANGFUSE_TRACING_ENABLED: give true or false"),
        (
            "COLLECTION_SEARCH_METRICS_PREFIX",
            "1 bad-",
            r"\. COLLECTION_SEARCH_METRICS_PREFIX: give letters, digits, _ and :, no digit first$",
        ),
        ("COLLECTION_SEARCH_PROVIDERS", "brave", PROVIDERS_AS_JSON),
        ("COLLECTION_SEARCH_PROVIDERS", "[]", PROVIDERS_AS_JSON),
        ("COLLECTION_SEARCH_PROVIDERS", "true", PROVIDERS_AS_JSON),
        (
            "COLLECTION_SEARCH_PROVIDERS",
            '{"brave": true}',
            r"\. COLLECTION_SEARCH_PROVIDERS: providers\.brave: give a map .*; possible names: api_key, ",
        ),
        ("COLLECTION_SEARCH_WEB_SEARCH", "true", WEB_SEARCH_AS_JSON),
        ("COLLECTION_SEARCH_WEB_SEARCH", "searxng", WEB_SEARCH_AS_JSON),
        ("COLLECTION_SEARCH_WEB_SEARCH", "{enabled: false}", WEB_SEARCH_AS_JSON),
        ("COLLECTION_SEARCH_WEB_SEARCH", "[]", WEB_SEARCH_AS_JSON),
        (
            "COLLECTION_SEARCH_WEB_SEARCH",
            '{"settings": {"max_results": 50}}',
            r"\. COLLECTION_SEARCH_WEB_SEARCH: web_search\.settings\.max_results: give 10 or less$",
        ),
        (
            "COLLECTION_SEARCH_WEB_SEARCH",
            '{"settings": {"backend": "serxng"}}',
            r"\. COLLECTION_SEARCH_WEB_SEARCH: web_search\.settings\.backend: .* mean searxng\?$",
        ),
        (
            "COLLECTION_SEARCH_PROVIDERS",
            '{"brave": {"quota": -1}}',
            r"\. COLLECTION_SEARCH_PROVIDERS: providers\.brave\.quota: give 0 or more",
        ),
        (
            "COLLECTION_SEARCH_PROVIDERS",
            '{"brav": {"quota": 1}}',
            "COLLECTION_SEARCH_PROVIDERS: providers.brav: there is no .* did you mean brave",
        ),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, named: str
) -> None:
    """By the name under which it was set, whatever else the setting is called."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=named):
        Settings.load()


def test_a_wrong_argument_is_named_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It wins over variable and file, which are not blamed."""
    (tmp_path / "collection-search.yaml").write_text("ingest_workers: 2\n")
    monkeypatch.setenv("COLLECTION_SEARCH_INGEST_WORKERS", "3")
    with pytest.raises(ConfigError, match=r"\. ingest_workers: give 1 or more"):
        Settings.load(ingest_workers=0)


def test_providers_that_others_made_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By entry point anywhere, as an argument for live objects; any variable may be a stranger's."""
    install_package(tmp_path / "site", monkeypatch, "others", acme="acme:Search")
    (tmp_path / "collection-search.yaml").write_text("providers: {acme: {quota: 7}}\n")
    monkeypatch.setenv("STRANGER_API_KEY", "k")
    settings = Settings.load(providers={"mine": {"quota": 8}})
    assert {name: one.quota for name, one in settings.providers.items()} == {
        "acme": 7,
        "mine": 8,
        "stranger": None,
    }


def test_an_unknown_variable_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With the name that was meant, and never with the value: a newer version may know it."""
    monkeypatch.setenv("COLLECTION_SEARCH_MODELL", "hunter2")
    monkeypatch.setenv("COLLECTION_SEARCH_CONFIG", "")
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", "elsewhere")
    assert Settings.load().model is None
    Settings.load()
    [warning] = caplog.messages
    assert warning.startswith("the variable COLLECTION_SEARCH_MODELL is none of this version")
    assert warning.endswith("; did you mean COLLECTION_SEARCH_MODEL?")


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("TAVILY_API_KEY", "; did you mean TAVILY_API_KEY?"),
        ("PROVIDERS__BRAVE__API_KEY", "; did you mean BRAVE_API_KEY?"),
        ("OPNAI_API_KEY", "; did you mean COLLECTION_SEARCH_OPENAI_API_KEY?"),
        ("CONFIGG", "; did you mean COLLECTION_SEARCH_CONFIG?"),
        ("GOPHER_API_KEY", "is not used"),
    ],
)
def test_a_key_is_not_led_to_another_vendor(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    variable: str,
    meant: str,
) -> None:
    """Who follows the hint would hand it over."""
    monkeypatch.setenv(f"COLLECTION_SEARCH_{variable}", "hunter2")
    Settings.load()
    [warning] = caplog.messages
    assert warning.endswith(meant)


@pytest.mark.parametrize("name", ["TENANTS"])
def test_a_variable_of_a_later_version_is_no_misspelt_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """No other name is suggested."""
    monkeypatch.setenv(f"COLLECTION_SEARCH_{name}", "{}")
    Settings.load()
    [warning] = caplog.messages
    assert warning.endswith("is none of this version and is not used")


def test_a_wrong_value_is_not_repeated() -> None:
    """It may be a key."""
    with pytest.raises(ValidationError) as caught:
        Settings(openai_api_key=["hunter2"])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("FETCH_PROXY", "foo", "give an address, as http://user:password@host:3128"),
        ("FETCH_PROXY", "socks5://proxy:1080", "give an address"),
        ("FETCH_PROXY", "http://u:hunter2@proxy:99999", "a port from 1 to 65535"),
        ("FETCH_PROXY", "http://u:hunt@er2@proxy:3128", "%40 for @"),
        ("FETCH_PROXY", "http://", "give an address"),
        ("FETCH_PROXY", "http://[::g]:3128", "give an address"),
        ("FETCH_ALLOWED", "wiki", "give each address as host:port, such as wiki.intra:443"),
        ("FETCH_ALLOWED", ":80", "give each address as host:port"),
        ("FETCH_ALLOWED", "a.intra:443 wiki.intra:65536", "a port from 1 to 65535"),
        ("FETCH_ALLOWED", "10.0.0.0/8:80", "give each address as host:port"),
        ("FETCH_ALLOWED", "http://u:hunter2@wiki:80", "without http:// and login"),
    ],
)
def test_a_wrong_address_of_fetching_is_told_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    """When the settings are read: otherwise every page would fail later."""
    monkeypatch.setenv(f"COLLECTION_SEARCH_{variable}", value)
    with pytest.raises(ConfigError, match=f"COLLECTION_SEARCH_{variable}: give") as caught:
        Settings.load()
    assert told in str(caught.value)
    assert "hunt" not in str(caught.value)


def test_addresses_of_fetching_may_be_names_numbers_and_logins() -> None:
    """Whatever a fetch can use."""
    allowed = ["wiki:8080", "b\u00fccher.intra:443", "10.0.0.7:80", "[fd00::1]:8443"]
    assert Settings(fetch_allowed=allowed).fetch_allowed == allowed
    for proxy in ("http://proxy", "HTTPS://u:p%40@proxy.intra:3128/", "http://[fd00::1]:3128"):
        assert Settings(fetch_proxy=proxy).fetch_proxy == proxy


@pytest.mark.parametrize(
    "value", ["https://foo.example/", "foo.example:8080", "*", "foo.example/app", "*.example"]
)
def test_a_host_that_no_request_can_have_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """Otherwise every request is refused, with the advice to set what is set."""
    monkeypatch.setenv("COLLECTION_SEARCH_SERVER_ALLOWED_HOSTS", f"search.intra,{value}")
    told = r"COLLECTION_SEARCH_SERVER_ALLOWED_HOSTS: give host names alone, such as search.example"
    with pytest.raises(ConfigError, match=told):
        Settings.load()


def test_allowed_hosts_are_kept_as_requests_have_them() -> None:
    """In small letters, international names as A-labels, numbers without brackets."""
    hosts = ["Search.Intra", "b\u00fccher.example", "192.168.1.7", "::1", "[fd00::A]"]
    kept = ["search.intra", "xn--bcher-kva.example", "192.168.1.7", "::1", "fd00::a"]
    assert Settings(server_allowed_hosts=hosts).server_allowed_hosts == kept


def test_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable does not override a default."""
    monkeypatch.setenv("COLLECTION_SEARCH_MODEL", "")
    assert Settings.load().model is None


@pytest.mark.parametrize("source", ["variable", "file", "argument"])
def test_a_tilde_is_the_user_s_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """No shell has replaced it in a file or a unit of systemd; a folder `~` would be made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    monkeypatch.delenv("COLLECTION_SEARCH_HOME", raising=False)
    names = {"home": "~/data", "metrics_file": "~/run.prom", "browser_path": "~/bin/chromium"}
    if source == "file":
        lines = "\n".join(f'{name}: "{path}"' for name, path in names.items())
        (tmp_path / "collection-search.yaml").write_text(lines)
    for name, path in names.items() if source == "variable" else ():
        monkeypatch.setenv(f"COLLECTION_SEARCH_{name.upper()}", path)
    settings = Settings.load(**names if source == "argument" else {})
    assert settings.home == tmp_path / "ann" / "data"
    assert settings.metrics_file == tmp_path / "ann" / "run.prom"
    assert settings.browser_path == tmp_path / "ann" / "bin" / "chromium"


def test_unwritable_home_is_a_config_error(tmp_path: Path) -> None:
    """A data folder that is a file says which variable to set."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="COLLECTION_SEARCH_HOME"):
        Settings.load(home=tmp_path / "file").prepared_home()


def test_a_bare_field_name_is_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only prefixed names and the vendors' own are read: PROVIDER may belong to somebody else."""
    monkeypatch.setenv("PROVIDER", "aws")
    monkeypatch.setenv("TENANT", "other")
    settings = Settings.load()
    assert (settings.provider, settings.tenant) == ("auto", "local")
