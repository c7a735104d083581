"""`propagation token`: tokens of callers."""

from pathlib import Path
from typing import Annotated

import typer

from services.cli.access import AsJson, Assignments, Config, settings_of
from services.cli.exits import Command
from services.client.errors import UsageProblem
from services.runtime.console import print_json, print_table
from services.security.roles import Role
from services.security.tokens import NAME, new_token, read_tokens, write_tokens

token = typer.Typer(
    no_args_is_help=True,
    help="Tokens of the service: made, listed, taken back. A running service follows.",
)
Name = Annotated[str, typer.Argument(help="Whose it is: small letters, digits and hyphens.")]
File = Annotated[
    Path | None,
    typer.Option(
        "--tokens", metavar="FILE", help="The tokens file; default: the setting server.tokens."
    ),
]


@token.command(cls=Command)
def new(
    name: Name,
    role: Annotated[
        list[str],
        typer.Option(
            "--role",
            metavar="application|write|read|persons|analyst|admin",
            help="May be repeated.",
        ),
    ],
    tokens: File = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Make a token and print it, this once.

    The file keeps only the token's hash.

    A front end needs application. persons includes read, analyst includes persons, and admin
    includes all but analyst, which alone sees users by id.

    JSON: {"name", "roles", "token"}.
    """
    path = _file(tokens, config, assignments)
    if not NAME.fullmatch(name):
        raise UsageProblem(
            f"{name!r} is no name for a token; give small letters, digits and hyphens, at most 63"
        )
    if strange := [value for value in role if value not in set(Role)]:
        raise UsageProblem(f"{strange[0]!r} is no role; give some of {', '.join(Role)}")
    standing = read_tokens(path) if path.exists() else {}
    if name in standing:
        raise UsageProblem(
            f"{path} has a token named {name}; `propagation token revoke {name}` takes it back"
        )
    secret, made = new_token(name, [Role(value) for value in role])
    write_tokens(path, [*standing.values(), made])
    document = {"name": name, "roles": sorted(made.roles), "token": secret}
    print_json(document) if json else print(secret)


@token.command("list", cls=Command)
def list_(
    tokens: File = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """List names and roles.

    JSON: [{"name", "roles"}].
    """
    standing = read_tokens(_file(tokens, config, assignments))
    rows = [(entry.name, sorted(entry.roles)) for entry in standing.values()]
    if json:
        print_json([{"name": name, "roles": roles} for name, roles in rows])
    else:
        print_table("", ("name", "roles"), [(name, ", ".join(roles)) for name, roles in rows])


@token.command(cls=Command)
def revoke(
    name: Name, tokens: File = None, config: Config = None, assignments: Assignments = None
) -> None:
    """Take a token back; a running service refuses it within two seconds."""
    path = _file(tokens, config, assignments)
    standing = read_tokens(path)
    if standing.pop(name, None) is None:
        raise UsageProblem(
            f"{path} has no token named {name}; `propagation token list` shows those it has"
        )
    write_tokens(path, standing.values())
    print(f"The token {name} is revoked in {path}; a running service refuses it in two seconds.")


def _file(named: Path | None, config: Path | None, assignments: list[str] | None) -> Path:
    path = named or settings_of(config, assignments).server.tokens
    if path is None:
        raise UsageProblem("no tokens file is named: give --tokens FILE, or set server.tokens")
    return path
