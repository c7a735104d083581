"""`propagation token`: tokens of callers."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from services.cli.access import AsJson, Assignments, Config, get_settings
from services.cli.exits import Command
from services.client.errors import UsageProblem
from services.runtime.console import print_json, print_rows, print_text
from services.security.roles import Role
from services.security.tokens import (
    NAME,
    Token,
    create_token,
    parse_moment,
    read_tokens,
    write_tokens,
)

token = typer.Typer(
    no_args_is_help=True,
    help="Make, list and revoke tokens. A running service follows within two seconds.",
)
SPAN = re.compile(r"([0-9]+) *([A-Za-z]+)")
UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1)}
EXAMPLES = "give 90d, 12h or 2027-01-31T00:00:00Z"
Name = Annotated[str, typer.Argument(help="The token's name: small letters, digits and hyphens.")]
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
        list[Role], typer.Option("--role", help="A role of the token; may be repeated.")
    ],
    expires: Annotated[
        str | None,
        typer.Option(metavar="90d|12h|TIME", help="When the token expires; default: never."),
    ] = None,
    tokens: File = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """Make a token, and print it only this once.

    The file keeps only the token's hash.

    A front end needs application. persons includes read, analyst includes persons, and admin
    includes all but analyst, which alone sees users by id.

    JSON: {"name", "roles", "expires", "token"}.
    """
    path = _find_file(tokens, config, assignments)
    if not NAME.fullmatch(name):
        raise UsageProblem(
            f"{name!r} is not a valid token name; give at most 63 small letters, digits and hyphens"
        )
    known = read_tokens(path) if path.exists() else {}
    if name in known:
        raise UsageProblem(
            f"{path} already has a token named {name}; `propagation token revoke {name}` revokes it"
        )
    secret, made = create_token(name, role, _parse_end(expires) if expires else None)
    write_tokens(path, [*known.values(), made])
    print_json(_build_document(made) | {"token": secret}) if json else print(secret)


@token.command("list", cls=Command)
def list_(
    tokens: File = None,
    config: Config = None,
    assignments: Assignments = None,
    json: AsJson = False,
) -> None:
    """List the tokens: name, roles, and when each expires.

    JSON: [{"name", "roles", "expires"}].
    """
    documents = [
        _build_document(entry)
        for entry in read_tokens(_find_file(tokens, config, assignments)).values()
    ]
    print_rows(
        documents,
        ("name", "roles", "expires"),
        [(one["name"], ", ".join(one["roles"]), one["expires"] or "never") for one in documents],
        json=json,
    )


@token.command(cls=Command)
def revoke(
    name: Name, tokens: File = None, config: Config = None, assignments: Assignments = None
) -> None:
    """Revoke a token; a running service refuses it within two seconds."""
    path = _find_file(tokens, config, assignments)
    known = read_tokens(path)
    if known.pop(name, None) is None:
        raise UsageProblem(
            f"{path} has no token named {name}; `propagation token list` shows those it has"
        )
    write_tokens(path, known.values())
    print_text(
        f"The token {name} is revoked in {path}; a running service refuses it within two seconds."
    )


def _build_document(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "roles": sorted(token.roles),
        "expires": token.expires.isoformat() if token.expires else None,
    }


def _parse_end(text: str) -> datetime:
    """Parse a time in ISO 8601, or days or hours from now.

    Raises:
        UsageProblem: The text is neither, or the time has passed.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    span = SPAN.fullmatch(text)
    if span is not None and span[2] not in UNITS:
        raise UsageProblem(
            f"--expires is {text!r}, and {span[2]!r} is not a unit; the units are d (days) and h"
            f" (hours): {EXAMPLES}"
        )
    try:
        end = now + int(span[1]) * UNITS[span[2]] if span is not None else parse_moment(text)
    except OverflowError:
        raise UsageProblem(
            f"--expires is {text!r}, which is later than the year 9999; {EXAMPLES}"
        ) from None
    except ValueError:
        raise UsageProblem(
            f"--expires is {text!r}, which is no number of days or hours and no time; {EXAMPLES}"
        ) from None
    if end <= now:
        raise UsageProblem(f"--expires is {text!r}, which is not in the future; {EXAMPLES}")
    return end


def _find_file(named: Path | None, config: Path | None, assignments: list[str] | None) -> Path:
    path = named or get_settings(config, assignments).server.tokens
    if path is None:
        raise UsageProblem("no tokens file is named: give --tokens FILE, or set server.tokens")
    return path
