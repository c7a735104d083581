"""Resume tokens: where a watcher stands, and for which kinds; opaque, good for as long as the graph is."""

import base64
from collections.abc import Collection
from dataclasses import astuple, fields

import orjson

from propagation.model.errors import InvalidInput
from propagation.model.watched import WatchedKind
from propagation.workflow.watching import Position

FORM = 1


def token_of(position: Position, kinds: Collection[WatchedKind]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([FORM, sorted(kinds), *astuple(position)])).decode()


def position_of(token: str, kinds: Collection[WatchedKind], newest: Position) -> Position:
    """Raises InvalidInput on a token that is none, was given out for other kinds, or by a graph that was further than this one."""
    try:
        form, asked, *numbers = orjson.loads(base64.b64decode(token.encode(), altchars=b"-_", validate=True))
        position = Position(*numbers)
        good = form == FORM and len(numbers) == len(fields(Position)) and all(type(number) is int for number in numbers)
    except (ValueError, TypeError):
        good = False
    if not good:
        raise InvalidInput("resume_token", "is not one; give resume_token of an answer of this stream, or nothing")
    if asked != sorted(kinds):
        raise InvalidInput("resume_token", f"was given out for the kinds {', '.join(asked)}; ask for the same ones")
    if position.round > newest.round or position.merge > newest.merge or position.evolution > newest.evolution:
        raise InvalidInput("resume_token", "is of a graph that was further than this one; begin anew without it")
    return position
