"""The commands of a server's operator: serve runs it, account makes and revokes tokens."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Json, VaultFolder, number
from discreet.cli.shared import GRID_SECONDS, existing_vault, print_json, print_refusals
from discreet.errors import InvalidValue, Unavailable, with_article

__all__ = ["register", "serve_demo"]

_GUEST, _KEEPER = "guest", "keeper"
_EXTRA = "the server needs the server extra; run: pip install 'discreet[server]'."


def register(app: typer.Typer) -> None:
    """Give the application the server's commands."""
    app.command("serve", help="Serve the vault over HTTP, for browsers and other programs.")(_serve)
    account = typer.Typer(no_args_is_help=True)
    account.command("add", help="Make an account, or a further token for one; shown once.")(_add)
    account.command("list", help="List accounts and their tokens, without the tokens' text.")(_list)
    account.command("revoke", help="Make an account's tokens worthless at once.")(_revoke)
    app.add_typer(account, name="account", help="Accounts of the server and their tokens.")


@print_refusals
def _serve(
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port; 0 takes a free one.")] = 8642,
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", metavar="FOLDER", help="Files here may be registered; repeatable."),
    ] = None,
    database: Annotated[
        list[str] | None,
        typer.Option(
            "--database", metavar="NAME=URL", help="A database that may be registered; repeatable."
        ),
    ] = None,
    behind_tls: Annotated[
        bool, typer.Option("--behind-tls", help="Cookies only over HTTPS: behind a TLS proxy.")
    ] = False,
    account_megabytes: Annotated[
        int, typer.Option("--account-megabytes", help="What may be stored for one account.")
    ] = 256,
    requests_per_minute: Annotated[
        int, typer.Option("--requests-per-minute", help="How many requests one account may send.")
    ] = 6000,
    grid_seconds: Annotated[
        str,
        typer.Option("--grid-seconds", help="The step of time; outcomes are seen at whole steps."),
    ] = str(GRID_SECONDS),
    folder: VaultFolder = Path("vault"),
) -> None:
    try:
        from discreet.server.running import serve
        from discreet.server.settings import Settings
    except ImportError:
        raise Unavailable(_EXTRA) from None
    settings = Settings(
        host=host,
        port=port,
        roots=tuple(folder.resolve() for folder in root or ()),
        databases=_databases(database or []),
        secure_cookies=behind_tls,
        account_bytes=account_megabytes << 20,
        requests_per_minute=requests_per_minute,
    )
    with existing_vault(folder, grid_seconds=number(grid_seconds)) as curator:
        serve(curator, settings)


def serve_demo(folder: Path, port: int) -> None:
    """Serve the made-up clinic with one analyst and one custodian. Nobody in the clinic exists."""
    try:
        from discreet.server.running import serve
        from discreet.server.settings import Settings
    except ImportError:
        raise Unavailable(_EXTRA) from None
    from discreet.demo.tour import open_clinic
    from discreet.server.accounts import Accounts, Role

    with open_clinic(folder) as curator:
        settings = Settings(port=port, roots=(folder.resolve(),), guided=True)
        if _GUEST not in {account.name for account in curator.ledger.analysts()}:
            curator.grant(_GUEST, epsilon=2)
        accounts = Accounts(curator.vault.states)
        for name, role in ((_GUEST, Role.ANALYST), (_KEEPER, Role.CUSTODIAN)):
            if name in {account["name"] for account in accounts.list_all()}:
                accounts.revoke(name)
            typer.echo(f"The {role.value}'s token: {accounts.issue(name, role, days=1).text}")
        serve(curator, settings)


def _databases(texts: list[str]) -> dict[str, str]:
    databases = {}
    for text in texts:
        name, mark, url = text.partition("=")
        if not mark or not name.isidentifier() or not url:
            raise InvalidValue("--database is written NAME=URL, such as clinic=postgresql://...")
        databases[name] = url
    return databases


@print_refusals
def _add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The account.")],
    role: Annotated[str, typer.Option("--role", help="analyst or custodian.")] = "analyst",
    days: Annotated[int, typer.Option("--days", help="How long the token is valid.")] = 90,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.server.accounts import Accounts, Role

    if role not in list(Role):
        raise InvalidValue(f"--role is {role!r:.80}; write analyst or custodian.")
    if not 1 <= days <= 3650:
        raise InvalidValue(f"--days is {days}; it must be 1 to 3650.")
    with existing_vault(folder) as curator:
        issued = Accounts(curator.vault.states).issue(name, Role(role), days=days)
    if as_json:
        print_json({"name": name, "role": role, "expires": issued.expires, "token": issued.text})
        return
    typer.echo(
        f"{name} is {with_article(role)}. The token, shown this once and valid to {issued.expires}:"
    )
    typer.echo(issued.text)


@print_refusals
def _list(as_json: Json = False, folder: VaultFolder = Path("vault")) -> None:
    from discreet.server.accounts import Accounts

    with existing_vault(folder) as curator:
        accounts = list(Accounts(curator.vault.states).list_all())
    if as_json:
        print_json(accounts)
        return
    for account in accounts:
        tokens = ", ".join(f"{one['id']} to {one['expires'][:10]}" for one in account["tokens"])
        typer.echo(f"{account['name']}  {account['role']}  {tokens or 'no valid token'}")


@print_refusals
def _revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The account.")],
    token: Annotated[
        str | None, typer.Option("--token", metavar="ID", help="This one only.")
    ] = None,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.server.accounts import Accounts

    with existing_vault(folder) as curator:
        Accounts(curator.vault.states).revoke(name, token)
    typer.echo(f"Revoked: {'every token' if token is None else token} of {name}.")
