"""Keys and addresses of providers: checked when an adapter is made, never shown afterwards."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import SecretStr

from ....errors import ConfigError


def validate_key(
    given: str | SecretStr | None, *, title: str, variable: str, required: bool
) -> SecretStr | None:
    """Return the key without surrounding white space, None where an optional key is missing.

    Raises ConfigError naming the variable: a blank key is a mistake, not a missing one.
    """
    if given is None:
        if required:
            raise ConfigError(f"{title} needs a key. Set {variable}.")
        return None
    key = (given.get_secret_value() if isinstance(given, SecretStr) else str(given)).strip()
    if not key:
        raise ConfigError(f"{variable} is blank. Set the key, or remove the variable.")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(f"{variable} holds characters that no key has. Copy the key again.")
    return SecretStr(key)


def validate_address(given: str, *, title: str, variable: str) -> str:
    """Return the address without a slash at its end. Raises ConfigError naming the variable.

    >>> validate_address("http://localhost:8080/searx/", title="SearXNG", variable="SEARXNG_URL")
    'http://localhost:8080/searx'
    """
    address = given.strip().rstrip("/")
    if not address:
        raise ConfigError(f"{title} needs the address of a server. Set {variable}.")
    example = "write it like https://search.example.com"
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        is_usable = False
    if not is_usable or not address.isprintable() or " " in address:
        raise ConfigError(f"{variable} is no address of a server: {example}.")
    if "@" in address.partition("://")[2].partition("/")[0]:
        raise ConfigError(f"{variable} may hold no user name or password: {example}.")
    if "?" in address or "#" in address:
        raise ConfigError(f"{variable} goes up to the path at most, without ? and #: {example}.")
    return address
