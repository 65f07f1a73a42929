"""Addresses of the servers that keep the data and the messages; both may hold a password."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, SecretStr

from ..text.validation import require_form

# A password with @, / or % as they are would end up in the host or the port, and so in messages.
_HOST: Final = r"(\[[0-9A-Za-z:.%]+\]|[^][@/?#:,]*)(:[0-9]*)?"
_WELL_ENCODED: Final = "(?!.*%(?![0-9A-Fa-f]{2}))"
_HOSTS: Final = f"{_HOST}(,{_HOST})*"
_ENCODED: Final = "with %40 for @, %2F for / and %25 for % in the password"
_checked_postgres: Final = require_form(
    rf"{_WELL_ENCODED}postgres(ql)?://(?=.)([^@/]*@)?{_HOSTS}(/[^@/?]*)?(\?.*)?",
    f"give an address, as postgresql://user@host/name, {_ENCODED}",
)
_checked_amqp: Final = require_form(
    rf"amqps?://(?=.)([^/?#]*@)?{_HOST}(/[^@]*)?",
    f"give an address, as amqp://user:password@host:5672/vhost, {_ENCODED}",
)


def is_postgres_address(url: str) -> bool:
    """Return whether it has the form of an address, with a password that is encoded.

    >>> is_postgres_address("postgresql://me:a%40b@db/x"), is_postgres_address("db/x")
    (True, False)
    """
    try:
        _checked_postgres(url)
    except ValueError:
        return False
    return True


def _require_postgres(url: SecretStr) -> SecretStr:
    return SecretStr(_checked_postgres(url.get_secret_value()))


def _require_amqp(url: SecretStr) -> SecretStr:
    return SecretStr(_checked_amqp(url.get_secret_value()))


PostgresAddress = Annotated[SecretStr, AfterValidator(_require_postgres)]
"""Address of a PostgreSQL database; a message about it never shows it."""
BrokerAddress = Annotated[SecretStr, AfterValidator(_require_amqp)]
"""Address of a RabbitMQ broker; a message about it never shows it."""
