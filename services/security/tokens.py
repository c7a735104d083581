"""Tokens of callers.

A secret is shown once; the file keeps the token's name, roles, hash and time of expiry.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from propagation.atomic_file import write_atomically
from propagation.errors import PropagationError
from services.security.roles import Role

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
HASH = re.compile(r"[0-9a-f]{64}")
HEADER = (
    "# Tokens of the service, one a line: name, roles, SHA-256 of the secret, and when it expires"
    " (if left out: never). Made by `propagation token new`.\n"
)


class BrokenTokens(PropagationError):
    """The tokens file cannot be used.

    The message names file and line, never a token.
    """


@dataclass(frozen=True)
class Token:
    """A token as the file keeps it.

    `hashed` is the SHA-256 of the secret, in hex. The secret has 256 random bits: it cannot be
    guessed, so it needs no salt. A token without `expires` is valid until it is revoked.
    """

    name: str
    roles: frozenset[Role]
    hashed: str
    expires: datetime | None = None

    @property
    def line(self) -> str:
        """The token's line in the file."""
        end = f" {self.expires.isoformat()}" if self.expires else ""
        return f"{self.name} {','.join(sorted(self.roles))} {self.hashed}{end}\n"


def create_token(
    name: str, roles: Iterable[Role], expires: datetime | None = None
) -> tuple[str, Token]:
    """Make a token with these roles.

    Returns:
        The secret for the caller, and the entry for the file.
    """
    secret = secrets.token_urlsafe(32)
    return f"{name}.{secret}", Token(name, frozenset(roles), _hash(secret), expires)


def find_token(presented: str, tokens: Mapping[str, Token]) -> Token | None:
    """Find the token that a caller presented.

    A wrong secret takes as long as a right one.
    """
    name, _, secret = presented.partition(".")
    found = tokens.get(name)
    right = hmac.compare_digest(_hash(secret), found.hashed if found else "0" * 64)
    return found if right else None


def read_tokens(path: Path) -> dict[str, Token]:
    """Read the tokens file, by name.

    Raises:
        BrokenTokens: The file is unreadable or malformed, or users other than its owner may write
            it.
    """
    try:
        status, text = path.stat(), path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenTokens(
            f"{path}: cannot be read ({error}); make one with `propagation token new`"
        ) from error
    if status.st_mode & 0o022:
        raise BrokenTokens(f"{path}: users other than its owner may write it; run chmod 600 {path}")
    found: dict[str, Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        token = _parse_line(line, f"{path}, line {number}")
        if token.name in found:
            raise BrokenTokens(f"{path}, line {number}: the name {token.name!r} occurs twice")
        found[token.name] = token
    return found


def write_tokens(path: Path, tokens: Iterable[Token]) -> None:
    """Replace the tokens file in one step.

    A running service reads either the old file or the new one. The mode of an existing file is
    kept: a container's file may have to be readable by other users.
    """
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    with write_atomically(path, replace=True) as partial:
        partial.chmod(mode)
        partial.write_text(HEADER + "".join(token.line for token in tokens), encoding="utf-8")


def _parse_line(line: str, place: str) -> Token:
    parts = line.split()
    if len(parts) not in (3, 4) or not NAME.fullmatch(parts[0]) or not HASH.fullmatch(parts[2]):
        raise BrokenTokens(
            f"{place}: must be `name roles hash` or `name roles hash expires`; make the token again"
            " with `propagation token new`"
        )
    roles = parts[1].split(",")
    if unknown := sorted(set(roles) - set(Role)):
        raise BrokenTokens(f"{place}: {unknown[0]!r} is not a role; roles are {', '.join(Role)}")
    try:
        expires = parse_moment(parts[3]) if len(parts) == 4 else None
    except ValueError as error:
        raise BrokenTokens(
            f"{place}: {parts[3]!r} is not a time such as 2027-01-31T00:00:00Z"
        ) from error
    return Token(parts[0], frozenset(Role(role) for role in roles), parts[2], expires)


def parse_moment(text: str) -> datetime:
    """Parse a time in ISO 8601, in UTC if without a zone.

    Raises:
        ValueError: The text is no such time.
    """
    moment = datetime.fromisoformat(text)
    try:
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from error


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
