"""Numbers without what was taken back (DESIGN, State): N, n and c less what the interactions wrote,
the users' own sums, recency lists, trust and part of co over what is left of their history. What
others learned from it stays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client import ClientKind, index_of, kind_of
from propagation.model.interactions.withdrawal import LearnedWeights, PromotedRepeat
from propagation.model.routers.router_maps import RouterMapChain, RouterMaps
from propagation.numbers.rules.mass import write
from propagation.numbers.rules.neighbours import CO_HISTORY, HISTORY
from propagation.numbers.state import INTERACTIONS, SEEN, State
from propagation.numbers.subtract import (
    add_together,
    drop_keys,
    drop_neighbour,
    empty_row,
    fade_recent,
    own_pairs,
    own_sums,
    own_trust,
    unwrite,
)
from propagation.workflow.learn.learned_weights import TASTE
from propagation.workflow.views.numbers_view import NumbersView

LEAST_CHANGE = 1e-6
Vectors = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True)
class History:
    """The learned interactions [n] of one user (a row), in sequence order: items are rows, `gone`
    says which are taken back. `then`: by place, (content, attributes) vectors [D] of items whose
    text has changed since."""

    user: int
    sequence: NDArray[np.int64]
    item: NDArray[np.int64]
    weight: NDArray[np.float64]
    gone: NDArray[np.bool_]
    then: Mapping[int, Vectors] = field(default_factory=dict)


@dataclass
class Subtraction:
    """Collects, user by user, what the end needs: adoptions that are no more, repeats that take
    their place. `written`: in the routers of now; `stored` [n,2,16]: as they are stored, which
    `maps` lead to those of now."""

    written: LearnedWeights
    stored: NDArray[np.uint16]
    maps: RouterMaps
    retrust: bool
    leaving: list[tuple[int, int]] = field(default_factory=list)
    promoted: list[PromotedRepeat] = field(default_factory=list)

    def withdraw(self, view: NumbersView, histories: Iterable[History]) -> None:
        """Some users' part. Run it where the view is owned, while nothing is learned."""
        for history in histories:
            self._mass(view, history)
            self._own(view.state, history)

    def _mass(self, view: NumbersView, history: History) -> None:
        """Rules 5 and c. Where a repeat is left, it takes the place of the first adoption, with its
        own weight: in the routers of the repeat's epoch, since what is stored of it is read through
        the maps that came after it."""
        state, first = view.state, firsts(history.item)
        for row in np.flatnonzero(first & history.gone):
            item = int(history.item[row])
            place = int(np.searchsorted(self.written.sequence, history.sequence[row]))
            routers, weights = self.written.routers[place], self.written.weights[place]
            banks = (state.session, state.taste)
            for bank, of_bank, weight in zip(banks, routers, weights, strict=True):
                unwrite(bank, item, of_bank, weight)
            left = np.flatnonzero((history.item == item) & ~history.gone)
            if len(left):
                repeat = int(left[0])
                moved = (weights * (history.weight[repeat] / history.weight[row])).astype(
                    np.float32
                )
                then, at = int(history.sequence[row]), int(history.sequence[repeat])
                stored = _led(self.stored[place], self.maps.between(then, at), history.user)
                for bank, of_bank, weight in zip(
                    banks, _led(stored, self.maps.after(at), history.user), moved, strict=True
                ):
                    write(bank, item, of_bank, weight)
                self.promoted.append(PromotedRepeat(at, stored, moved))
                continue
            fade_recent(state, item, state.clock[INTERACTIONS] - self.written.since[place])
            state.adoptions[item] -= 1
            state.totals[0] -= 1
            self.leaving.append((history.user, item))

    def _own(self, state: State, history: History) -> None:
        """The user's sums and parts of others' sums, recency list, part of co and trust."""
        content, attributes = state.content[history.item], state.attributes[history.item]
        for place, (then_content, then_attributes) in history.then.items():
            content[place], attributes[place] = then_content, then_attributes
        left, user = ~history.gone, history.user
        before, after = (
            _parts(state, history.item, content, attributes),
            _parts(state, history.item[left], content[left], attributes[left]),
        )
        np.subtract.at(state.adopters, history.item, before.parts)
        np.add.at(state.adopters, history.item[left], after.parts)
        state.user_content[user], state.user_attributes[user] = after.content, after.attributes
        _change_together(state, before, after)
        _remember(state, user, history.item[left])
        if self.retrust:
            own_trust(state, user, history.item[left], history.weight[left])

    def finish(self, view: NumbersView, erased: int | None) -> None:
        """After the last user: adoptions leave the lists of what was seen, and an erased client its
        row."""
        _unsee(view.state, self.leaving)
        if erased is not None and kind_of(erased) == ClientKind.USER:
            _empty_user(view.state, index_of(erased))
        elif erased is not None:
            view.retire_item(index_of(erased))
            _empty_item(view.state, index_of(erased))
        banks = {
            name: getattr(view.state, name) for name in ("session", "taste")
        }  # new totals: readers look at all items again
        view.state = view.state._replace(
            **{name: bank._replace(total=bank.total.copy()) for name, bank in banks.items()}
        )


def _led(routers: NDArray[np.uint16], chain: RouterMapChain, user: int) -> NDArray[np.uint16]:
    """[2,16] one interaction's routers, those of the taste bank through maps."""
    led = routers.copy()
    led[TASTE] = chain.map_routers(routers[TASTE][None], np.array([user]))[0]
    return led


@dataclass(frozen=True)
class _Parts:
    """What a history comes to: parts [n,D] of adopters' sums, the sums themselves, the pairs [m,2]
    of co and their weights."""

    parts: NDArray[np.float32]
    content: NDArray[np.float32]
    attributes: NDArray[np.float32]
    pairs: NDArray[np.int64]
    weights: NDArray[np.float32]


def firsts(items: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[n] which are first of their kind."""
    out = np.zeros(len(items), np.bool_)
    out[np.unique(items, return_index=True)[1]] = True
    return out


def _parts(
    state: State,
    items: NDArray[np.int64],
    content: NDArray[np.float32],
    attributes: NDArray[np.float32],
) -> _Parts:
    size, dim = content.shape
    first = firsts(items)
    parts, sums = np.zeros((size, dim), np.float32), np.zeros((2, dim), np.float32)
    own_sums(content, attributes, first, parts, sums[0], sums[1])
    pairs, weights = (
        np.empty((size * CO_HISTORY, 2), np.int64),
        np.empty(size * CO_HISTORY, np.float32),
    )
    count = own_pairs(items, first, pairs, weights)
    return _Parts(parts, sums[0], sums[1], pairs[:count], weights[:count])


def _change_together(state: State, before: _Parts, after: _Parts) -> None:
    """co by the difference of both, in both directions."""
    pairs = np.sort(np.concatenate([before.pairs, after.pairs]), axis=1)
    if not len(pairs):
        return
    keys, place = np.unique(pairs[:, 0] << 32 | pairs[:, 1], return_inverse=True)
    change = np.zeros(len(keys))
    np.add.at(
        change, place.ravel(), np.concatenate([-before.weights, after.weights]).astype(np.float64)
    )
    changed = np.abs(change) > LEAST_CHANGE
    one, other, weights = keys[changed] >> 32, keys[changed] & 0xFFFFFFFF, change[changed]
    order = np.argsort(weights, kind="stable")  # what goes first makes room for what comes
    both = np.concatenate([one[order], other[order]]), np.concatenate([other[order], one[order]])
    add_together(state, *both, np.concatenate([weights[order], weights[order]]))


def _remember(state: State, user: int, items: NDArray[np.int64]) -> None:
    last = items[-HISTORY:]
    state.history[user] = 0
    state.history[user, : len(last)] = last
    state.history_next[user] = len(last) % HISTORY
    state.history_length[user] = len(items)


def _unsee(state: State, leaving: Sequence[tuple[int, int]]) -> None:
    """Adoptions (user, item) out of the hash set and the users' lists; the places of the others
    move together."""
    if not leaving:
        return
    drop_keys(state.seen_set, np.array([user << 32 | item for user, item in leaving], np.int64))
    count = int(state.clock[SEEN])
    wanted: dict[int, set[int]] = {}
    for user, item in leaving:
        wanted.setdefault(user, set()).add(item)
    gone = sorted(place for user, items in wanted.items() for place in _places(state, user, items))
    before = state.seen_before[:count]
    stands = np.arange(count)  # the place itself, or the one before it that stays
    for place in gone:
        stands[place] = stands[before[place]] if before[place] >= 0 else -1
    kept = np.ones(count, np.bool_)
    kept[gone] = False
    number = np.append(np.cumsum(kept) - 1, -1)

    def moved(places: NDArray[np.int64]) -> NDArray[np.int64]:
        there = np.append(stands, -1)[places]
        return np.where(there >= 0, number[there], -1)

    left = int(kept.sum())
    state.seen_before[:left] = moved(before[kept])
    state.seen_item[:left], state.seen_router[:left] = (
        state.seen_item[:count][kept],
        state.seen_router[:count][kept],
    )
    users = int(state.clock[2])
    state.seen_last[:users] = moved(state.seen_last[:users])
    state.clock[SEEN] = left


def _places(state: State, user: int, items: set[int]) -> list[int]:
    found: list[int] = []
    place = int(state.seen_last[user])
    while place >= 0 and len(found) < len(items):
        if int(state.seen_item[place]) in items:
            found.append(place)
        place = int(state.seen_before[place])
    return found


def _empty_user(state: State, user: int) -> None:
    state.user_profile[user] = 0
    state.day[user], state.day_mass[user] = 0, 0


def _empty_item(state: State, item: int) -> None:
    for bank in (state.session, state.taste):
        empty_row(bank, item)
    for array in (
        state.content,
        state.attributes,
        state.adopters,
        state.item_profile,
        state.recent,
        state.recent_at,
    ):
        array[item] = 0
    drop_neighbour(state, item)
