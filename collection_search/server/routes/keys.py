"""Keys in the system's keyring: written, tried and removed, never read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ...errors import InputError
from ...runtime.concurrency import offload
from ...settings.key_sources import (
    ShownKey,
    find_key,
    found_keys,
    given_key,
    key_names,
    known_key_name,
    renew_keys,
    shown_key,
)
from ...settings.keyring import cleaned_key, remove_key, store_key, unusable_reason
from ...tools.doctor.key_check import check_key
from ..access import require_operator
from ..opened import Base  # noqa: TC001 - FastAPI reads it

if TYPE_CHECKING:
    from ...settings import Settings

router = APIRouter(tags=["keys"], dependencies=[Depends(require_operator)])

KeyName = Annotated[str, Path(max_length=200, description="One of `known`, such as tavily.")]


class KeyringState(BaseModel):
    """Whether keys can be kept on this machine."""

    usable: bool
    reason: str | None = Field(description="Why not, with what to do instead.")


class Keys(BaseModel):
    """The keys that runs would use, without the keys."""

    keys: list[ShownKey]
    known: list[str] = Field(description="Names that a key can be stored for.")
    keyring: KeyringState


class NewKey(BaseModel):
    """A key to store; nothing ever returns it."""

    model_config = ConfigDict(extra="forbid")

    key: SecretStr = Field(max_length=4096)


@router.get("/keys")
async def list_keys(base: Base) -> Keys:
    """Return the names of the keys with where each comes from and its last characters."""
    return await offload(_listed, base.using())


@router.put("/keys/{name}", status_code=204)
async def put_key(name: KeyName, base: Base, given: NewKey) -> None:
    """Keep a key in the system's keyring; this server uses it from now on, and after a restart."""
    await offload(_store, base.using(), name, given.key.get_secret_value())


@router.post("/keys/{name}/check")
async def try_key(name: KeyName, base: Base) -> dict[str, Any]:
    """Contact the provider, model or embedder that takes the key, for nothing."""
    settings = base.using()
    return (await check_key(settings, await offload(_known, settings, name))).as_json()


@router.delete("/keys/{name}", status_code=204)
async def delete_key(name: KeyName, base: Base) -> None:
    """Remove a key from the system's keyring; this server stops using it at once."""
    await offload(_remove, base.using(), name)


def _listed(settings: Settings) -> Keys:
    reason = unusable_reason()
    return Keys(
        keys=[shown_key(settings, key) for key in found_keys(settings)],
        known=key_names(settings),
        keyring=KeyringState(usable=reason is None, reason=reason),
    )


def _known(settings: Settings, name: str) -> str:
    """Return the normalized name. Raises HTTPException with status 404."""
    try:
        return known_key_name(settings, name)
    except InputError as error:
        raise HTTPException(404, str(error)) from None


def _store(settings: Settings, name: str, key: str) -> None:
    """Store the key. Raises InputError, ConfigError, HTTPException with status 409."""
    name, key = _known(settings, name), cleaned_key(key)
    if given_key(settings, name) is not None and (held := find_key(settings, name)):
        raise HTTPException(
            409,
            f"{name} has a key from {held.where}, which is taken before the keyring's:"
            " remove that one first, and start the server again.",
        )
    store_key(settings.prepared_home(), name, key)
    renew_keys(settings)


def _remove(settings: Settings, name: str) -> None:
    remove_key(settings.prepared_home(), _known(settings, name))
    renew_keys(settings)
