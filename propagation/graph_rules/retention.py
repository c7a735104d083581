"""Rules of retention: which rows may be dropped.

Rows go whose life ended long ago, unless something that stays needs them. `before` is the oldest
sequence that can be shown afterwards. A store looks the facts up and asks these functions, in the
commit that drops a row where another commit could change a fact. Gradients belong to one sequence
each: those at or before `before` go. So do results of reasoning on SQLite, which keeps them in rows
of their own, but for those of replayed dead letters: they alone tell where the texts stand.

Source: docs/design.md, State.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MessageState:
    """The facts about a router's message that decide what of it goes.

    Attributes:
        is_cited: A line of a text cites it, and that text is current or stood at `before`. A text
            that comes to cite a message merges it in the same commit, so this needs no second look.
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
        is_held: Something that remains would lose its end without this version: a message's part
            and, in a graph, where a merge is a relationship to the version, a merge.
    """
    return _is_over(replaced_at, before) and not is_held


def may_drop_edge(closed: int | None, is_first: bool, round_: int) -> bool:
    """Return whether a routing edge may go.

    Without its first edges a client would be new again.

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

    These are all older ones except the newest barrier. Nothing reads an older barrier, and it would
    hold what was erased since.

    Args:
        checkpoints: Id, and whether it is a barrier and complete, of each.
        published: Id of the published one, which is complete.
    """
    barrier = max((id_ for id_, *is_ in checkpoints if all(is_)), default=published)
    return [id_ for id_, *_ in checkpoints if id_ < published and id_ != barrier]
