"""Rules of retention: which rows may be dropped.

A row may be dropped if it ended long ago, unless a row that stays needs it. `before` is the oldest
sequence that can be shown afterwards. A store looks up the facts and asks these functions; if
another commit could change a fact, it does so in the commit that drops the row.

A gradient belongs to one sequence, and is dropped if that is at or before `before`. So are results
of reasoning on SQLite, which keeps them in rows of their own. Results of replayed dead letters
stay: only they tell at which sequence the texts stand.

Source: docs/design.md, State.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MessageState:
    """The facts that decide whether a router's message may be dropped.

    Attributes:
        is_cited: A line of a text cites it, and that text is current or stood at `before`. A text
            that newly cites a message merges it in the same commit, so this need not be read again
            in the commit that drops the message.
        merged_at: Sequence of its newest merge; None: no client merged it.
        replaced_at: Sequence of the round that published the router's next message that remains;
            None while it is the newest.
    """

    is_cited: bool
    merged_at: int | None
    replaced_at: int | None


def may_drop_text(replaced_at: int | None, is_held: bool, before: int) -> bool:
    """Return whether a version of a text may go.

    Args:
        replaced_at: Sequence of the client's next version that remains; None while it is current.
        is_held: A row that remains refers to this version: a part of a message, or, in a graph
            where merges are relationships to versions, a merge.
    """
    return _is_over(replaced_at, before) and not is_held


def may_drop_edge(closed: int | None, is_first: bool, round_: int) -> bool:
    """Return whether a routing edge may go.

    Without its first edges a client would count as new again.

    Args:
        closed: Number of the round that closed it; None while it is open.
        is_first: No edge to the client was opened in an earlier round.
        round_: Number of the newest round that was published at or before `before`.
    """
    return _is_over(closed, round_) and not is_first


def may_drop_merges(message: MessageState, before: int) -> bool:
    """Return whether all merges of a message may be dropped.

    They are dropped together or not at all.
    """
    merged_since = message.merged_at is not None and message.merged_at > before
    return not message.is_cited and not merged_since


def may_drop_message(message: MessageState, before: int) -> bool:
    """Return whether a message may go, with its merges and its parts."""
    return _is_over(message.replaced_at, before) and may_drop_merges(message, before)


def _is_over(ended: int | None, last: int) -> bool:
    return ended is not None and ended <= last


def list_outdated_checkpoints(checkpoints: Sequence[Sequence[int]], published: int) -> list[int]:
    """List the checkpoints that the publication of one replaces.

    They are all older checkpoints except the newest barrier. Nothing reads an older barrier, and it
    would still hold what was erased since.

    Args:
        checkpoints: (id, is a barrier, is complete) of each.
        published: Id of the published checkpoint, which is complete.
    """
    barrier = max((id_ for id_, *is_ in checkpoints if all(is_)), default=published)
    return [id_ for id_, *_ in checkpoints if id_ < published and id_ != barrier]
