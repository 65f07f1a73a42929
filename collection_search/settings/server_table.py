"""The settings of the server and of who may call it."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode

from .host_addresses import HostName


def _parts(value: Any) -> Any:
    return value.replace(",", " ").split() if isinstance(value, str) else value


T = TypeVar("T")

ListOf = Annotated[list[T], NoDecode, BeforeValidator(_parts)]
"""A list; in the environment its parts are separated by spaces or commas."""
Listed = ListOf[str]
"""The same of any texts."""


class ServerTable(BaseSettings):
    """Who may call the server, by which names and how often; its runs."""

    server_auth: bool = Field(default=False, description="Callers of the server need a token.")
    server_allowed_hosts: ListOf[HostName] = Field(
        default_factory=list,
        description=(
            "Host names of the server, without port; without tokens localhost is one in any case."
        ),
    )
    server_requests_per_minute: int = Field(
        default=1200, ge=1, description="Requests of one tenant to a server with tokens."
    )
    server_runs_per_minute: int = Field(
        default=60, ge=1, description="Those of them that start a run, an ingestion or an answer."
    )
    server_runs_per_tenant: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="Runs of one tenant that the server executes at once; further ones wait.",
    )
    server_runs_kept: int = Field(
        default=500,
        ge=1,
        le=100_000,
        description="Ended runs that the server keeps for each tenant; the oldest go.",
    )
    server_token: SecretStr | None = Field(
        default=None,
        description="Token of 'review --server', sent to the LangGraph server as a bearer token.",
    )
