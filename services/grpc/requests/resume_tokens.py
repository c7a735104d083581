"""Resume tokens: where a watcher stands, for which kinds, and of which graph; opaque, good for as
long as the graph is."""

import base64
from collections.abc import Collection
from dataclasses import astuple, dataclass, fields

import orjson

from propagation.model.errors import InvalidInput
from propagation.model.watch_events import WatchEventKind
from propagation.workflow.history.watch import Position

FORM = 2


@dataclass(frozen=True)
class Resuming:
    """Tokens of one stream. `born`: see workflow/history/watch.py; a token given out before a
    graph's birth holds 0."""

    kinds: Collection[WatchEventKind]
    born: int

    def token(self, position: Position) -> str:
        return base64.urlsafe_b64encode(
            orjson.dumps([FORM, sorted(self.kinds), self.born, *astuple(position)])
        ).decode()

    def position(self, token: str, newest: Position) -> Position:
        """Raises InvalidInput on a token that is none, was given out for other kinds, by another
        graph, or by this one when it was further."""
        try:
            form, asked, born, *numbers = orjson.loads(
                base64.b64decode(token.encode(), altchars=b"-_", validate=True)
            )
            position = Position(*numbers)
            good = (
                form == FORM
                and len(numbers) == len(fields(Position))
                and asked == [str(kind) for kind in asked]
                and all(type(number) is int for number in (born, *numbers))
            )
        except (ValueError, TypeError):
            good = False
        if not good:
            raise InvalidInput(
                "resume_token",
                "is not one; give resume_token of an answer of this stream, or nothing",
            )
        if asked != sorted(self.kinds):
            raise InvalidInput(
                "resume_token",
                f"was given out for the kinds {', '.join(asked)}; ask for the same ones",
            )
        if born not in (0, self.born):
            raise InvalidInput("resume_token", "is of another graph; begin anew without it")
        if (
            position.round > newest.round
            or position.merge > newest.merge
            or position.evolution > newest.evolution
        ):
            raise InvalidInput(
                "resume_token",
                "is of a graph that was further than this one; begin anew without it",
            )
        return position
