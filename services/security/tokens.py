"""Tokens: made once and shown once; the file keeps their hash, roles and name, and nothing that
opens a door."""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from propagation.model.errors import PropagationError
from services.runtime.atomic_file import write_atomically
from services.security.roles import Role

SECRET_BYTES = 32
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
HASH = re.compile(r"[0-9a-f]{64}")
HEADER = "# Tokens of the service, one a line: name, roles, SHA-256 of the secret. Made by `propagation token new`.\n"


class BrokenTokens(PropagationError):
    """The tokens file cannot be used; names file, line and what is wrong, never a token."""


@dataclass(frozen=True)
class Token:
    """`hashed`: SHA-256 of the secret's 256 random bits, in hex: with so many there is nothing to
    guess, and no salt to add."""

    name: str
    roles: frozenset[Role]
    hashed: str

    @property
    def line(self) -> str:
        return f"{self.name} {','.join(sorted(self.roles))} {self.hashed}\n"


def new_token(name: str, roles: Iterable[Role]) -> tuple[str, Token]:
    """(what the caller keeps, what the file keeps)."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    return f"{name}.{secret}", Token(name, frozenset(roles), _hash(secret))


def token_of(given: str, tokens: Mapping[str, Token]) -> Token | None:
    """The token that this is; None where it is none of them. Takes as long for a wrong secret as
    for a right one."""
    name, _, secret = given.partition(".")
    found = tokens.get(name)
    right = hmac.compare_digest(_hash(secret), found.hashed if found else "0" * 64)
    return found if right else None


def read_tokens(path: Path) -> dict[str, Token]:
    """By name. Raises BrokenTokens."""
    try:
        status, text = path.stat(), path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BrokenTokens(
            f"{path}: cannot be read ({error}); make one with `propagation token new`"
        ) from error
    if status.st_mode & 0o022:
        raise BrokenTokens(f"{path}: others than its owner may write it; run chmod 600 {path}")
    found: dict[str, Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        token = _parsed(line, f"{path}, line {number}")
        if token.name in found:
            raise BrokenTokens(f"{path}, line {number}: the name {token.name!r} stands there twice")
        found[token.name] = token
    return found


def write_tokens(path: Path, tokens: Iterable[Token]) -> None:
    """In place of what was there, in one step: a service that looks meanwhile sees the old file or
    the new one."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with write_atomically(descriptor, beside, path) as file:
        file.write(HEADER + "".join(token.line for token in tokens))


def _parsed(line: str, place: str) -> Token:
    parts = line.split()
    if len(parts) != 3 or not NAME.fullmatch(parts[0]) or not HASH.fullmatch(parts[2]):
        raise BrokenTokens(
            f"{place}: is not `name roles hash`; make it anew with `propagation token new`"
        )
    roles = parts[1].split(",")
    if strange := sorted(set(roles) - set(Role)):
        raise BrokenTokens(f"{place}: {strange[0]!r} is no role; roles are {', '.join(Role)}")
    return Token(parts[0], frozenset(Role(role) for role in roles), parts[2])


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
