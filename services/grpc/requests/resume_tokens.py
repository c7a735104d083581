"""Opaque tokens that resume a watch. They stay valid for as long as the graph exists."""

import base64
from collections.abc import Collection
from dataclasses import astuple, dataclass, fields

import orjson

from propagation.model import InvalidInput, WatchEventKind
from propagation.workflow.history.watch import Position

FORMAT = 2


@dataclass(frozen=True)
class ResumeTokens:
    """Encodes and decodes the tokens of one stream.

    `created` is the time of the graph's first entry, which tells graphs apart; a token that was
    made before that entry holds 0.
    """

    kinds: Collection[WatchEventKind]
    created: int

    def encode(self, position: Position) -> str:
        """Make the token of a position."""
        content = [FORMAT, sorted(self.kinds), self.created, *astuple(position)]
        return base64.urlsafe_b64encode(orjson.dumps(content)).decode()

    def decode(self, token: str, newest: Position) -> Position:
        """Read the position of a token.

        Args:
            token: The token.
            newest: The graph's newest position; a later one is from another graph.

        Raises:
            InvalidInput: The token is malformed, or belongs to other kinds or another graph.
        """
        try:
            format_, kinds, created, *numbers = orjson.loads(
                base64.b64decode(token.encode(), altchars=b"-_", validate=True)
            )
            position = Position(*numbers)
            valid = (
                format_ == FORMAT
                and len(numbers) == len(fields(Position))
                and kinds == [str(kind) for kind in kinds]
                and all(type(number) is int for number in (created, *numbers))
            )
        except (ValueError, TypeError):
            valid = False
        if not valid:
            problem = "is malformed; give resume_token of an answer of this stream, or nothing"
        elif kinds != sorted(self.kinds):
            problem = f"belongs to the kinds {', '.join(kinds)}; ask for the same ones"
        elif created not in (0, self.created):
            problem = "belongs to another graph; start again without it"
        elif (
            position.round > newest.round
            or position.merge > newest.merge
            or position.evolution > newest.evolution
        ):
            problem = "belongs to a graph that was further than this one; start again without it"
        else:
            return position
        raise InvalidInput("resume_token", problem)
