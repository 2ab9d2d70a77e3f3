"""`shardwright console`: the web console, and the accounts of those who may sign in there."""

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ... import __version__
from ...clock import SystemClock
from ...console import settings as told
from ...console.accounts import FILE, Account, Accounts
from ...console.roles import EVERYWHERE, Role
from ...console.settings import HOST, PORT, Place, SaidConsole, SaidRegistry, Settings
from ...errors import ConfigError, MissingExtra
from ...ops import audit
from ...ops.audit import Action
from ...ops.operator import Done
from ...registry.url import parse
from ...runtime.chronicle import VARIABLE as HISTORY_VARIABLE
from ...runtime.chronicle import place_of
from .. import places
from ..blocks import Table
from ..blocks import said as shown
from ..call import Command, call, examples, is_terminal
from ..doing import show_done

if TYPE_CHECKING:
    from ...console.serving import Serving

EXTRA = "the console needs an extra: pip install 'shardwright[console]'"

ACCOUNTS = click.option(
    "--accounts",
    metavar="FILE",
    help=f"The file that accounts are kept in: {FILE} in this folder unless given.",
)


@click.group(
    "console",
    invoke_without_command=True,
    epilog=examples(
        "shardwright console",
        "shardwright console --registry prod=zookeeper://zk1,zk2/prod --registry test=zookeeper://zk1/test",
        "shardwright console user add ann --role admin",
    ),
)
@click.option(
    "--registry",
    "registries",
    multiple=True,
    metavar="[NAME=]URL",
    help="A registry to show; give several with a name each.",
)
@click.option(
    "--history",
    "histories",
    multiple=True,
    metavar="[NAME=]ADDRESS",
    help="The history of a registry, by the registry's name.",
)
@click.option("--host", metavar="ADDRESS", help=f"Where to listen: {HOST} unless given.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"At which port: {PORT} unless given; 0 takes any."
)
@click.option("--root-path", metavar="PATH", help="The path that it is found below, such as /ops.")
@ACCOUNTS
@click.option("--tls-cert", metavar="FILE", help="A certificate, to serve https.")
@click.option("--tls-key", metavar="FILE", help="The certificate's private key.")
@click.option(
    "--proxy",
    is_flag=True,
    help="Believe X-Forwarded-For, -Proto and -Host: only where a proxy that sets them is the one way in.",
)
@click.pass_context
def console_command(
    context: click.Context,
    registries: tuple[str, ...],
    histories: tuple[str, ...],
    host: str | None,
    port: int | None,
    root_path: str | None,
    accounts: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    proxy: bool,
) -> None:
    """Serve the web console: see jobs, steer them, look into their history.

    It shows the registries that are named here or in the table [console] of shardwright.toml, else the one
    that every other command would take. On its first start it prints a token, with which the first account
    is made in the browser. Runs until SIGINT or SIGTERM.
    """
    if context.invoked_subcommand is not None:
        return
    given = registries or ((address,) if (address := call(context).address) else ())
    with _as_usage():
        said = _said()
        settings = Settings(
            places=_places(said, given, histories),
            accounts=_accounts_file(accounts, said),
            host=host or said.host or HOST,
            port=_first(port, said.port, PORT),
            root_path=told.checked_root_path(root_path or said.root_path),
            proxied=proxy or said.proxy,
            tls_cert=_file(tls_cert or said.tls_cert),
            tls_key=_file(tls_key or said.tls_key),
            oidc=said.oidc,
            version=__version__,
        )
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    _serve(settings)


def _serve(settings: Settings) -> None:
    try:
        from ...console.serving import Serving
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] not in ("fastapi", "starlette", "uvicorn"):
            raise
        raise MissingExtra(EXTRA) from missing
    _log_to_standard_error()
    serving = Serving(settings)
    for line in _lines(serving, settings):
        click.echo(line)
    sys.stdout.flush()
    serving.run()


def _lines(serving: "Serving", settings: Settings) -> Iterable[str]:
    yield f"The console is at {serving.address}"
    if serving.token is not None:
        yield f"One-time token for the first account: {serving.token}"
    if not settings.is_local and settings.tls_cert is None and not settings.proxied:
        yield (
            "Note: passwords come over the network in the clear: give --tls-cert and --tls-key, or put a "
            "proxy with TLS before it and say --proxy"
        )


def _log_to_standard_error() -> None:
    """The audit, and what goes wrong, for whoever looks after the console."""
    if not logging.getLogger().handlers:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    for noisy in ("kazoo", "uvicorn.error", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


# What is meant


@contextmanager
def _as_usage() -> Iterator[None]:
    """What is said wrongly, by options or in the file, is wrong usage."""
    try:
        yield
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def _said() -> SaidConsole:
    return told.read(places.table_in_a_file("console"))


def _places(said: SaidConsole, given: tuple[str, ...], histories: tuple[str, ...]) -> tuple[Place, ...]:
    """The registries to show: those of the options, else those of the table, else the one that any command
    would take."""
    kept = told.named(histories, "history")
    if not given and said.registries:
        found = {
            name: each if isinstance(each, SaidRegistry) else SaidRegistry(registry=each)
            for name, each in said.registries.items()
        }
    else:
        chosen = told.named(given, "registry") or {told.ONLY: places.address(None)}
        found = {name: SaidRegistry(registry=url) for name, url in chosen.items()}
    if len(found) == 1 and set(kept) == {told.ONLY}:
        kept = {next(iter(found)): kept[told.ONLY]}
    for name in kept.keys() - found.keys():
        raise ConfigError(f"--history: there is no registry {name!r}; there are: {', '.join(found)}")
    shown = tuple(_place(name, each, kept.get(name), alone=len(found) == 1) for name, each in found.items())
    return _apart(shown, {name for name, each in found.items() if name in kept or each.history is not None})


def _apart(shown: tuple[Place, ...], named: set[str]) -> tuple[Place, ...]:
    """The same, without a history that nobody has named and that others have, too: registries in one folder
    keep theirs in one file unless they are told otherwise, and it does not say of which a job is."""
    users = Counter(place.where for place in shown)
    shared = [place for place in shown if place.name not in named and place.where and users[place.where] > 1]
    if shared:
        names = ", ".join(place.name for place in shared)
        click.echo(
            f"Note: {names}: no history is shown, as another registry has it, too. Give each a history of "
            "its own where its jobs run, by SHARDWRIGHT_HISTORY, and here, by --history NAME=ADDRESS",
            err=True,
        )
    return tuple(replace(place, history=None) if place in shared else place for place in shown)


def _place(name: str, said: SaidRegistry, history: str | None, *, alone: bool) -> Place:
    address = parse(said.registry)
    if address.scheme == "memory":
        raise click.UsageError(f"{address}: what is kept in memory is known to its own process only")
    if address.scheme not in ("sqlite", "zookeeper", "zk"):
        raise click.UsageError(
            f"{address}: there is no registry called {address.scheme!r}; there are sqlite and zookeeper"
        )
    named = history or said.history
    if alone and named is None:  # what says where the history is, says it of the one registry there is
        named = os.environ.get(HISTORY_VARIABLE) or places.in_a_file("history")
    if named is None:
        places.check_file(said.registry)
    return Place(name, said.registry, _history_of(said.registry, named))


def _history_of(url: str, said: str | None) -> str | Path | None:
    if said is not None:
        return said
    # The environment's word is about one registry, and is heard above.
    return place_of(url, None) if HISTORY_VARIABLE not in os.environ else None


def _accounts_file(option: str | None, said: SaidConsole) -> Path:
    return Path(option or said.accounts or FILE).absolute()


def _file(said: str | None) -> Path | None:
    return None if said is None else Path(said)


def _first(*said: int | None) -> int:
    return next(each for each in said if each is not None)


# The accounts


@console_command.group("user", epilog=examples("shardwright console user add ann --role admin"))
def user() -> None:
    """Show, make and change the accounts of the console."""


ROLE = click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    metavar="[REGISTRY=]ROLE",
    help="viewer, operator, author or admin: of one registry, or of all. May be repeated.",
)
NAME = click.argument("name")


@user.command(
    "list", cls=Command, epilog=examples("shardwright console user list --accounts /etc/console.json")
)
@ACCOUNTS
@click.pass_context
def list_users(context: click.Context, accounts: str | None) -> None:
    """List who may sign in, and as what."""
    found = _opened(accounts).all()
    document = {"users": [_shown(each) for each in found]}
    call(context).show(document, lambda: [_table(found)])


@user.command(
    "add",
    cls=Command,
    epilog=examples(
        "shardwright console user add ann --role admin",
        "shardwright console user add bob --role viewer --role test=author < password.txt",
    ),
)
@NAME
@ROLE
@ACCOUNTS
@click.pass_context
def add_user(context: click.Context, name: str, roles: tuple[str, ...], accounts: str | None) -> None:
    """Make an account. The password is asked for, or read from standard input."""
    wanted = _roles(roles)
    made = _opened(accounts).add(name, _password(), wanted)
    _done(context, "add user", made.name, f"{name} may sign in as {_roles_said(made)}")


@user.command("remove", cls=Command, epilog=examples("shardwright console user remove bob"))
@NAME
@ACCOUNTS
@click.pass_context
def remove_user(context: click.Context, name: str, accounts: str | None) -> None:
    """Remove an account. Whoever has signed in with it is signed out."""
    _opened(accounts).remove(name)
    _done(context, "remove user", name, f"{name} may sign in no longer")


@user.command("role", cls=Command, epilog=examples("shardwright console user role bob --role prod=operator"))
@NAME
@ROLE
@ACCOUNTS
@click.pass_context
def set_roles(context: click.Context, name: str, roles: tuple[str, ...], accounts: str | None) -> None:
    """Give an account these roles instead of those it has. Whoever has signed in with it is signed out."""
    changed = _opened(accounts).set_roles(name, _roles(roles))
    _done(context, "change user", name, f"{name} is {_roles_said(changed)} now")


@user.command("password", cls=Command, epilog=examples("shardwright console user password bob"))
@NAME
@ACCOUNTS
@click.pass_context
def set_password(context: click.Context, name: str, accounts: str | None) -> None:
    """Give an account another password, asked for or read from standard input."""
    _opened(accounts).set_password(name, _password())
    _done(context, "change user", name, f"{name} has another password now")


def _opened(option: str | None) -> Accounts:
    with _as_usage():
        return Accounts(_accounts_file(option, _said()), SystemClock())


def _password() -> str:
    """Never from the command line, which every user of the machine can read."""
    if is_terminal(sys.stdin):
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


def _roles(said: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in said:
        registry, equals, role = each.rpartition("=")
        name = registry if equals else EVERYWHERE
        if name in found:
            raise click.UsageError(f"--role: {name} is given twice")
        if role not in list(Role):
            raise click.UsageError(f"--role: there is no role {role!r}; there are: {', '.join(Role)}")
        found[name] = role
    return found


def _done(context: click.Context, what: str, name: str, sentence: str) -> None:
    audit.to_log(Action(SystemClock().wall(), audit.somebody(), what, name, sentence, audit.DONE))
    show_done(context, Done(what, name, (sentence,)))


def _shown(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "roles": dict(account.roles),
        "created": account.created.isoformat(),
    }


def _roles_said(account: Account) -> str:
    return ", ".join(
        f"{role} of all registries" if at == EVERYWHERE else f"{role} of {at}"
        for at, role in account.roles.items()
    )


def _table(found: list[Account]) -> Table:
    rows = [[each.name, _roles_said(each), shown(each.created)] for each in found]
    return Table(["user", "roles", "created"], rows, empty="There is no account.")
