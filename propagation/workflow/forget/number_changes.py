"""Numbers without withdrawn interactions.

N, n and c lose what the interactions wrote. The users' own sums, recency lists, trust and part of
the co-counts are computed again over the rest of their histories. What others learned stays.

Source: docs/numbers.md, State.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from propagation.model import (
    F32,
    F64,
    I64,
    U16,
    U32,
    Bools,
    ClientKind,
    LearnedWeights,
    PromotedRepeat,
    RouterMapChain,
    RouterMaps,
    get_kind,
    index_of,
)
from propagation.numbers import (
    BY_SEEN,
    INTERACTIONS,
    ITEMS,
    SEEN,
    USERS,
    State,
    add_together,
    compute_own_sums,
    drop_keys,
    drop_neighbour,
    fade_recent,
    fill_own_pairs,
    recompute_own_trust,
    reset_taste,
    unwrite,
)
from propagation.numbers.rules import CO_HISTORY, HISTORY, RECENT_HALF_LIFE, write
from propagation.workflow.learn import TASTE
from propagation.workflow.views import NumbersView

LEAST_CHANGE = 1e-6


@dataclass(frozen=True)
class History:
    """The n learned interactions of one user, in sequence order.

    Attributes:
        user: Row.
        sequence: [n].
        item: [n] rows.
        weight: [n] event weights.
        time: [n] u32 seconds since 1970.
        withdrawn: [n], which of them are withdrawn.
        then: (content, attributes) vectors [D] that an item had when it was chosen, by place; only
            for items whose text changed since.
    """

    user: int
    sequence: I64
    item: I64
    weight: F64
    time: U32
    withdrawn: Bools
    then: Mapping[int, tuple[F32, F32]] = field(default_factory=dict)


@dataclass
class Subtraction:
    """Subtracts withdrawn interactions from a view, user by user.

    Attributes:
        written: What the interactions wrote, in current routers.
        stored: [n,2,16] their routers as stored; `maps` lead to the current ones.
        retrust: Whether to compute the users' trust again.
        removed_places: Places of withdrawn adoptions in the users' lists.
        promoted: Repeats that took the place of first adoptions.
    """

    written: LearnedWeights
    stored: U16
    maps: RouterMaps
    retrust: bool
    removed_places: list[int] = field(default_factory=list)
    promoted: list[PromotedRepeat] = field(default_factory=list)

    def withdraw(self, view: NumbersView, histories: Sequence[History]) -> None:
        """Subtract some users' interactions.

        Runs on the numbers' thread, while nothing is learned.
        """
        for history in histories:
            self._subtract_mass(view, history)
            self._recompute_own(view.state, history)
        view.recount_trusting_users(np.array([history.user for history in histories], np.int64))

    def _subtract_mass(self, view: NumbersView, history: History) -> None:
        """Subtract withdrawn first adoptions' mass, or move it to a repeat.

        For a withdrawn first adoption of item i by user u, which wrote the weights w_k to the
        routers k with event weight a:

        - without a repeat by u: m[i,k] -= w_k, n[k] -= w_k, c[i] -= 1, N -= 1;
        - with a repeat, of event weight b: m[i,k] -= w_k, then m[i,k'] += w_k * b / a. k' is k,
          mapped through every evolution between the first adoption and the repeat.

        Source: docs/numbers.md, rule 5 and State.
        """
        state, first = view.state, find_first_occurrences(history.item)
        banks = (state.session, state.taste)
        removed: set[int] = set()
        for row in np.flatnonzero(first & history.withdrawn):
            item = int(history.item[row])
            place = int(np.searchsorted(self.written.sequence, history.sequence[row]))
            routers, weights = self.written.routers[place], self.written.weights[place]
            for bank, of_bank, weight in zip(banks, routers, weights, strict=True):
                unwrite(bank, item, of_bank, weight)
            repeats = np.flatnonzero((history.item == item) & ~history.withdrawn)
            if len(repeats):
                self._promote(view, history, int(row), int(repeats[0]), place)
                continue
            learned_at = state.clock[INTERACTIONS] - self.written.since[place]
            fade_recent(state.recent, state.recent_at, item, learned_at)
            # recent_at may be the moment of the withdrawn adoption: count from now instead.
            now = state.clock[INTERACTIONS]
            state.recent[item] *= np.exp2((state.recent_at[item] - now) / RECENT_HALF_LIFE)
            state.recent_at[item] = now
            state.adoptions[item] -= 1
            state.totals[0] -= 1
            removed.add(item)
        keys = np.array([history.user << 32 | item for item in removed], np.int64)
        drop_keys(state.seen_set, keys)
        self.removed_places += _find_adoption_places(state, history.user, removed)

    def _promote(
        self, view: NumbersView, history: History, row: int, repeat: int, place: int
    ) -> None:
        """Let a repeat take the place of the first adoption.

        The repeat keeps its own event weight.

        Args:
            row: The first adoption's place in the history.
            repeat: The repeat's place in the history.
            place: The first adoption's place in `written`.
        """
        state, user, item = view.state, history.user, int(history.item[row])
        scale = history.weight[repeat] / history.weight[row]
        weights = (self.written.weights[place] * scale).astype(np.float32)
        first, second = int(history.sequence[row]), int(history.sequence[repeat])
        stored = _map_taste(self.stored[place], self.maps.between(first, second), user)
        current = _map_taste(stored, self.maps.after(second), user)
        banks = (state.session, state.taste)
        for bank, of_bank, weight in zip(banks, current, weights, strict=True):
            write(bank, item, of_bank, weight)
        adoption = _find_adoption_places(state, user, {item})
        state.seen_time[adoption] = history.time[repeat]
        self.promoted.append(PromotedRepeat(second, stored, weights))

    def _recompute_own(self, state: State, history: History) -> None:
        """Compute the user's sums, recency list, co-counts and trust again."""
        content, attributes = state.content[history.item], state.attributes[history.item]
        for place, (then_content, then_attributes) in history.then.items():
            content[place], attributes[place] = then_content, then_attributes
        stays, user = ~history.withdrawn, history.user
        before = _compute_sums(history.item, content, attributes)
        after = _compute_sums(history.item[stays], content[stays], attributes[stays])
        np.subtract.at(state.adopters, history.item, before.parts)
        np.add.at(state.adopters, history.item[stays], after.parts)
        state.user_content[user], state.user_attributes[user] = after.content, after.attributes
        _change_co_counts(state, before, after)
        _set_recency_list(state, user, history.item[stays], history.time[stays])
        if history.withdrawn.all():  # others keep theirs until the factors are learned again
            reset_taste(state.factors, np.array([user]), state.seed)
        if self.retrust:
            recompute_own_trust(state, user, history.item[stays], history.weight[stays])

    def finish(
        self, view: NumbersView, erased: int | None, erased_refs: Iterable[int] = ()
    ) -> None:
        """Shorten the users' lists, and empty the rows of an erased client.

        Args:
            erased: Client (ref) whose rows are emptied; None for a retraction.
            erased_refs: It and the items that go with it. These are only retired: their rows are
                emptied with the log entry that the commit makes (NumbersView.erase_items).
        """
        _remove_places(view.state, sorted(self.removed_places))
        gone = [
            index_of(ref)
            for ref in {*erased_refs, *(() if erased is None else (erased,))}
            if get_kind(ref) == ClientKind.ITEM and index_of(ref) < view.items
        ]
        view.state.factors.withdrawn[0] += (
            len(self.removed_places) + len(self.promoted) + _count_drawable(view.state, gone)
        )
        if erased is not None and get_kind(erased) == ClientKind.USER:
            user = index_of(erased)
            view.state.user_profile[user] = 0
            view.state.day[user], view.state.day_mass[user] = 0, 0
        elif erased is not None:
            item = index_of(erased)
            view.erase_items([item])
            drop_neighbour(
                view.state.neighbour,
                view.state.together,
                view.state.neighbour_count,
                int(view.state.clock[ITEMS]),
                item,
            )
        for item in gone:
            view.retire_item(item)
        view.copy_totals()


def _count_drawable(state: State, items: Iterable[int]) -> int:
    """Count the items that may have been drawn for an adoption."""
    largest = int(state.seen_catalogue[: int(state.clock[SEEN])].max(initial=0))
    return sum(item < largest for item in items)


def _map_taste(routers: U16, chain: RouterMapChain, user: int) -> U16:
    """Map one interaction's taste routers; routers are [2,16]."""
    mapped = routers.copy()
    mapped[TASTE] = chain.map_routers(routers[TASTE][None], np.array([user]))[0]
    return mapped


@dataclass(frozen=True)
class _HistorySums:
    """Sums over a history.

    Attributes:
        parts: [n,D] contributions to the adopters' sums.
        content: [D] the user's sum of content vectors.
        attributes: [D] the user's sum of attribute vectors.
        pairs: [m,2] item pairs of the co-counts.
        weights: [m] contribution of each pair to the co-counts.
    """

    parts: F32
    content: F32
    attributes: F32
    pairs: I64
    weights: F32


def find_first_occurrences(items: I64) -> Bools:
    """Mark the places where an item occurs for the first time, [n]."""
    out = np.zeros(len(items), np.bool_)
    out[np.unique(items, return_index=True)[1]] = True
    return out


def _compute_sums(
    items: I64,
    content: F32,
    attributes: F32,
) -> _HistorySums:
    size, dim = content.shape
    first = find_first_occurrences(items)
    parts, sums = np.zeros((size, dim), np.float32), np.zeros((2, dim), np.float32)
    compute_own_sums(content, attributes, first, parts, sums[0], sums[1])
    pairs = np.empty((size * CO_HISTORY, 2), np.int64)
    weights = np.empty(size * CO_HISTORY, np.float32)
    count = fill_own_pairs(items, first, pairs, weights)
    return _HistorySums(parts, sums[0], sums[1], pairs[:count], weights[:count])


def _change_co_counts(state: State, before: _HistorySums, after: _HistorySums) -> None:
    """Add the difference of both histories to the co-counts, in both directions."""
    pairs = np.sort(np.concatenate([before.pairs, after.pairs]), axis=1)
    keys, place = np.unique(pairs[:, 0] << 32 | pairs[:, 1], return_inverse=True)
    change = np.zeros(len(keys))
    np.add.at(
        change, place.ravel(), np.concatenate([-before.weights, after.weights]).astype(np.float64)
    )
    changed = np.abs(change) > LEAST_CHANGE
    one, other, weights = keys[changed] >> 32, keys[changed] & 0xFFFFFFFF, change[changed]
    order = np.argsort(weights, kind="stable")  # subtract first, to make room for new neighbours
    both = np.concatenate([one[order], other[order]]), np.concatenate([other[order], one[order]])
    add_together(
        state.neighbour,
        state.together,
        state.neighbour_count,
        state.adoptions,
        *both,
        np.concatenate([weights[order], weights[order]]),
    )


def _set_recency_list(state: State, user: int, items: I64, times: U32) -> None:
    last = items[-HISTORY:]
    state.history[user], state.history_time[user] = 0, 0
    state.history[user, : len(last)] = last
    state.history_time[user, : len(last)] = times[-HISTORY:]
    state.history_next[user] = len(last) % HISTORY
    state.history_length[user] = len(items)


def _remove_places(state: State, places: Sequence[int]) -> None:
    """Remove places, in ascending order, from the users' linked lists of adoptions.

    The lists share one array of places; the places that stay move together.
    """
    if not places:
        return
    count = int(state.clock[SEEN])
    before = state.seen_before[:count]
    nearest_kept = np.arange(
        count
    )  # the place itself, or the nearest kept one before it in its list
    for place in places:
        nearest_kept[place] = nearest_kept[before[place]] if before[place] >= 0 else -1
    kept = np.ones(count, np.bool_)
    kept[places] = False
    number = np.append(np.cumsum(kept) - 1, -1)
    new_place_of = number[np.append(nearest_kept, -1)]  # the place -1, the end of a list, stays -1
    remaining = int(kept.sum())
    users = int(state.clock[USERS])
    before_kept = new_place_of[before[kept]]
    for name in BY_SEEN:
        array = getattr(state, name)
        array[:remaining] = array[:count][kept]
    state.seen_before[:remaining] = before_kept
    state.seen_last[:users] = new_place_of[state.seen_last[:users]]
    state.clock[SEEN] = remaining


def _find_adoption_places(state: State, user: int, items: set[int]) -> list[int]:
    found: list[int] = []
    place = int(state.seen_last[user])
    while place >= 0 and len(found) < len(items):
        if int(state.seen_item[place]) in items:
            found.append(place)
        place = int(state.seen_before[place])
    return found
