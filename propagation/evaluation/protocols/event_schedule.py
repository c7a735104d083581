"""Which events come in what order, which are ranked and which are learned: what makes one protocol
differ from another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.evaluation.stream import Stream

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Schedule:
    """user, item [B] rows · ranked, learned [B]: an event is ranked before it is learned."""

    user: I64
    item: I64
    ranked: Mask
    learned: Mask

    def __len__(self) -> int:
        return len(self.user)

    def known(self) -> tuple[I64, I64]:
        """([B] interactions of the event's user, [B] adopters of its item) that are learned before
        it."""
        first = np.zeros(len(self), np.bool_)
        rows = np.flatnonzero(self.learned)
        first[
            rows[
                np.unique(np.stack([self.user[rows], self.item[rows]]), axis=1, return_index=True)[
                    1
                ]
            ]
        ] = True
        return _before(self.user, self.learned), _before(self.item, first)


def _before(key: I64, counted: Mask) -> I64:
    """[B] how many counted events before each have its key."""
    order = np.argsort(key, kind="stable")
    running: I64 = np.cumsum(counted[order]) - counted[order]
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    out = np.empty(len(key), np.int64)
    out[order] = running - np.repeat(running[starts], np.diff(np.append(starts, len(key))))
    return out


def prequential(stream: Stream, every: int) -> Schedule:
    """Test, then learn; one event in `every` is ranked. The stream in its order."""
    events = len(stream.user)
    return Schedule(
        stream.user, stream.item, np.arange(events) % every == 0, np.ones(events, np.bool_)
    )


def last_of_each_user(stream: Stream) -> Mask:
    """[E] the leave-last-one-out targets: each user's last event, of users with at least two."""
    events = len(stream.user)
    last = np.full(stream.users, -1)
    last[stream.user] = np.arange(events)
    targets = np.zeros(events, np.bool_)
    targets[last[np.bincount(stream.user, minlength=stream.users) > 1]] = True
    return targets


def leave_one_out(stream: Stream, targets: Mask) -> tuple[Schedule, Mask, Mask]:
    """(schedule, [B] targets at their own moment, [B] targets at the end): all else is learned in
    time order; no target ever is. A target is ranked twice: where it stands, by its past alone, and
    after everything."""
    rows = np.concatenate([np.arange(len(targets)), np.flatnonzero(targets)])
    at_moment, at_end = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    at_moment[: len(targets)] = targets
    at_end[len(targets) :] = True
    return (
        Schedule(stream.user[rows], stream.item[rows], at_moment | at_end, ~(at_moment | at_end)),
        at_moment,
        at_end,
    )


def histories_shuffled(stream: Stream, targets: Mask, seed: int) -> Stream:
    """The order inside each user's history destroyed: its items in random order at the moments that
    it had; targets stay."""
    rng = np.random.default_rng(seed)
    rest = np.flatnonzero(~targets)
    own = rest[np.argsort(stream.user[rest], kind="stable")]
    mixed = rest[np.lexsort((rng.random(len(rest)), stream.user[rest]))]
    item = stream.item.copy()
    item[own] = stream.item[mixed]
    return Stream(
        stream.name, stream.item_texts, stream.attribute_texts, stream.user, item, stream.time
    )
