"""`collection-search tokens`: who may call the server; a token is printed once and not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..text.counted import counted
from .shared.context_options import AsJson  # noqa: TC001 - typer reads the annotations
from .shared.near_names import SuggestingGroup
from .shared.terminal import Screen

if TYPE_CHECKING:
    from ..settings import Settings

UserArgument = Annotated[
    str, typer.Argument(metavar="USER", help="Name of the user, as approvals and runs show it.")
]
TenantOfUser = Annotated[
    str | None, typer.Option("--tenant", help="The user's tenant; by default the settings' one.")
]

app = typer.Typer(
    cls=SuggestingGroup, add_completion=False, rich_markup_mode=None, invoke_without_command=True
)


@app.callback()
def tokens(context: typer.Context) -> None:
    """Issue, list and remove the tokens of the server's callers."""
    if context.invoked_subcommand is None:
        list_()


@app.command()
def add(
    user: UserArgument,
    *,
    role: Annotated[
        Literal["viewer", "reviewer", "admin"],
        typer.Option(help="viewer reads, reviewer also runs and decides, admin also deletes."),
    ] = "viewer",
    tenant: TenantOfUser = None,
    as_json: AsJson = False,
) -> None:
    """Issue a token and print it, once."""
    from ..settings import Settings
    from ..settings.access_tokens import AccessTokens, Role

    settings, screen = Settings.load(), Screen(as_json=as_json)
    owner = _tenant(tenant, settings)
    token = AccessTokens(settings.prepared_home()).add(owner, user, Role[role])
    if as_json:
        screen.json({"token": token, "tenant": owner, "user": user, "role": role})
        return
    screen.line(token)
    screen.note(
        f"This is the token of {user}, {role} of the tenant {owner}. It is not shown again: only"
        " its hash is kept."
    )
    if not settings.server_auth:
        screen.warn("The server asks for no token yet: set COLLECTION_SEARCH_SERVER_AUTH=true.")


@app.command("list")
def list_(
    *,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tokens by id, with whom each stands for."""
    from ..settings import Settings
    from ..settings.access_tokens import AccessTokens

    screen = Screen(as_json=as_json)
    every = AccessTokens(Settings.load().home).every()
    found = [one for one in every if tenant in {None, one.tenant}]
    if as_json:
        screen.json(
            {
                "tokens": [
                    {
                        "id": one.token_id,
                        "tenant": one.tenant,
                        "user": one.user,
                        "role": one.role.name,
                        "created_at": one.created_at,
                    }
                    for one in found
                ]
            }
        )
        return
    if not found:
        where = "" if tenant is None else f" of {tenant}"
        screen.line(
            f"There are no tokens{where}. Issue one with 'collection-search tokens add USER'."
        )
    for one in found:
        screen.line(
            "  ".join((one.token_id, one.tenant, one.user, one.role.name, one.created_at[:10]))
        )


@app.command()
def remove(
    user: UserArgument,
    *,
    tenant: TenantOfUser = None,
    token_id: Annotated[
        str | None, typer.Option("--id", help="Only the token with this id, as the list shows it.")
    ] = None,
) -> None:
    """Remove a user's tokens. Running servers refuse them at once."""
    from ..errors import InputError
    from ..settings import Settings
    from ..settings.access_tokens import AccessTokens

    settings, screen = Settings.load(), Screen()
    owner, held = _tenant(tenant, settings), AccessTokens(settings.home)
    ids = [
        one.token_id
        for one in held.every()
        if (one.tenant, one.user) == (owner, user) and token_id in {None, one.token_id}
    ]
    if not ids:
        raise InputError(
            f"{user} has no such token in the tenant {owner}."
            " See 'collection-search tokens list'; another tenant needs --tenant."
        )
    screen.line(f"Removed {counted(held.remove(ids), 'token')} of {user}.")


def _tenant(given: str | None, settings: Settings) -> str:
    """Return the tenant that is meant. Raises ConfigError for a name that is none."""
    return settings.tenant if given is None else _named(given)


def _named(tenant: str) -> str:
    from pydantic import TypeAdapter, ValidationError

    from ..contracts.search import Name
    from ..errors import InputError

    try:
        name: str = TypeAdapter(Name).validate_python(tenant)
    except ValidationError as error:
        raise InputError("A tenant's name has 1 to 200 printable characters.") from error
    return name
