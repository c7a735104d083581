"""The numbers in memory, as of one sequence of the log."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from propagation.model import (
    F32,
    I32,
    I64,
    NEGATIVES,
    NO_FACTORS,
    WRITTEN,
    BankName,
    ClientKind,
    DamagedNumbers,
    FactorSettings,
    Gauge,
    GaugePoint,
    Interactions,
    LearnedBlock,
    get_kind,
    index_of,
    name_damage,
)
from propagation.numbers import (
    FOLLOW,
    ITEMS,
    LEARN,
    NO_LIMITS,
    RECORDED,
    RELEARN,
    USERS,
    Bank,
    State,
    create_state,
    empty_row,
    find_retired,
    learn_block,
    mix_seed,
    reset_item,
    with_room,
)
from propagation.numbers.ranking.top_k import BY_TEXT, NO_ROUTER, list_taste_rows
from propagation.numbers.rules import (
    FEATURES,
    PROPAGATED,
    START_SHARPNESS,
    Combiner,
    create_combiner,
    find_softmax_largest,
    pack_combiner,
    start_mass,
    unpack,
)
from propagation.routing import draw_random_directions
from propagation.workflow.views.trusting_users import TrustingUsers

ON, OFF = 0, 1
NO_RECORD = np.iinfo(np.int32).max


def draw_seeded_directions(count: int, dimension: int, seed: int) -> F32:
    """Draw unit vectors [count, D] from a seed.

    Routers before bootstrap and items without text have such vectors.
    """
    return draw_random_directions(np.random.default_rng(seed), count, dimension)


def create_live_combiner(arms: int = 2) -> Combiner:
    """Create the combiner; its arms weigh the same features.

    The first arm uses propagation, the second does not; further arms are like the first.
    """
    mask = np.ones((arms, FEATURES))
    mask[OFF, list(PROPAGATED)] = 0
    return create_combiner(mask)


class NumbersView:
    """State and combiner at the sequence `applied_through`.

    The view is not thread-safe; NumbersOwner runs one function at a time on it.
    """

    def __init__(
        self,
        session_centres: F32,
        taste_centres: F32,
        seed: int,
        epoch: int,
        limits: tuple[float, float] = NO_LIMITS,
        factors: FactorSettings = NO_FACTORS,
    ) -> None:
        self.state: State = create_state(session_centres, taste_centres, seed, factors=factors)
        self.state.limits[:] = limits
        self.combiner = create_live_combiner()
        self.seed = seed
        self.epoch = epoch
        self.applied_through = 0
        self._changed_items: set[int] = set()
        self._trusting_users: dict[BankName, TrustingUsers] = {}

    @property
    def users(self) -> int:
        return int(self.state.clock[USERS])

    @property
    def items(self) -> int:
        return int(self.state.clock[ITEMS])

    @property
    def routers(self) -> list[int]:
        """Return the numbers of the taste routers, without those that evolution retired."""
        return [int(router) for router in np.flatnonzero(~find_retired(self.state.taste))]

    def get_bank(self, name: BankName) -> Bank:
        """Return a bank of routers."""
        return self.state.session if name == BankName.SESSION else self.state.taste

    def count_trusting_users(self, name: BankName) -> I64:
        """Count the users who trust each router of a bank most, [K].

        All users are counted at the first call, and at the first one after an evolution or a load.
        From then on the counts follow what is learned and withdrawn.
        """
        if name not in self._trusting_users:
            self._trusting_users[name] = TrustingUsers(
                self.get_bank(name), self.state.history_length
            )
        return self._trusting_users[name].counts.copy()

    def recount_trusting_users(self, users: I64) -> None:
        """Count users [n] again whose trust or history changed."""
        for name, kept in self._trusting_users.items():
            kept.update(self.get_bank(name), self.state.history_length, users)

    def add_users(self, count: int) -> None:
        """Raise the number of users to at least `count`."""
        self.state = with_room(self.state, max(count, 1), 1, 0)
        self.state.clock[USERS] = max(self.state.clock[USERS], count)

    def set_item(self, row: int, content: F32, attributes: F32, visible: bool) -> None:
        """Add an item, or set an item's new text.

        If the content is all zeros, as for an empty text, a seeded direction stands for it.

        Args:
            content: Vector [D] of the item's text.
            attributes: Vector [D] of the item's attributes.
        """
        self.state = with_room(self.state, 1, row + 1, 0)
        state = self.state
        state.content[row] = self.get_direction(row, content)
        state.attributes[row] = attributes
        state.visible[row] = visible
        state.present[row] = True
        self._changed_items.add(row)
        if row >= self.items:
            start_mass(state.session, row, state.content[row])
            start_mass(state.taste, row, state.content[row])
            is_retired = find_retired(state.taste)
            state.taste.total[is_retired] -= state.taste.mass[row, is_retired]
            state.taste.mass[row, is_retired] = 0
            state.clock[ITEMS] = row + 1
            state.totals[1] += 1

    def retire_item(self, row: int) -> None:
        """Keep an item from ever being shown or drawn again."""
        self.state.visible[row] = self.state.present[row] = False
        self._changed_items.add(row)

    def readmit_items(self, rows: Iterable[int]) -> None:
        """Show retired items again, which no upsert has hidden."""
        for row in rows:
            if row < self.items:
                self.state.visible[row] = self.state.present[row] = True
                self._changed_items.add(row)

    def erase_items(self, rows: Iterable[int]) -> None:
        """Empty the rows of erased items, and retire them.

        Rows that the view does not have are left out. Neighbours stay. A row that is emptied again,
        as when the log is replayed, leaves the count of items once only.
        """
        known = [row for row in rows if row < self.items]
        state = self.state
        for row in known:
            self.retire_item(row)
            state.totals[1] -= state.content[row].any()
            for bank in (state.session, state.taste):
                empty_row(bank, row)
            for array in (
                state.content,
                state.attributes,
                state.adopters,
                state.item_profile,
                state.recent,
                state.recent_at,
            ):
                array[row] = 0
            reset_item(state.factors, row, state.seed)
        if known:
            self.copy_totals()

    def copy_totals(self) -> None:
        """Copy the banks' totals, so that readers look at all items again."""
        session, taste = self.state.session, self.state.taste
        self.state = self.state._replace(
            session=session._replace(total=session.total.copy()),
            taste=taste._replace(total=taste.total.copy()),
        )

    def find_rarely_chosen(self, refs: Iterable[int], least_users: int) -> frozenset[int]:
        """Find items that fewer than `least_users` distinct users chose."""
        rows = {ref: index_of(ref) for ref in refs if get_kind(ref) == ClientKind.ITEM}
        return frozenset(
            ref
            for ref, row in rows.items()
            if (self.state.adoptions[row] if row < self.items else 0) < least_users
        )

    def get_direction(self, row: int, content: F32) -> F32:
        """Return an item's content vector [D], or a direction in its place.

        If the content is all zeros, the direction is a unit vector drawn from a seeded hash of the
        row.
        """
        if content.any():
            return content
        drawn = int(mix_seed(np.uint64(row), np.uint64(self.seed))) >> 1
        return draw_seeded_directions(1, len(content), drawn).ravel()

    def set_profiles(self, refs: Sequence[int], vectors: F32) -> None:
        """Set profile vectors [len, D].

        Clients that the view does not know yet are left out.
        """
        for ref, vector in zip(refs, vectors, strict=True):
            row = index_of(ref)
            if get_kind(ref) == ClientKind.USER and row < self.users:
                self.state.user_profile[row] = vector
            elif get_kind(ref) == ClientKind.ITEM and row < self.items:
                self.state.item_profile[row] = vector
                self._changed_items.add(row)

    def forget_profiles(self, refs: Sequence[int]) -> None:
        """Clear the profile vectors of clients that were erased."""
        self.set_profiles(refs, np.zeros((len(refs), self.state.content.shape[1]), np.float32))

    @property
    def changed_items(self) -> int:
        """Return how many items take_changed_items would return."""
        return len(self._changed_items)

    def take_changed_items(self) -> I64:
        """Return the rows of items that changed since the last call.

        An item changes with its vectors or its visibility.
        """
        rows = np.fromiter(self._changed_items, np.int64, len(self._changed_items))
        self._changed_items.clear()
        return rows

    def learn(
        self, events: Interactions, through: int, recorded: I32 | None = None
    ) -> LearnedBlock:
        """Apply rules 1 to 5 (docs/numbers.md) to these events.

        The view is ahead of the store until the block is committed.

        Args:
            events: Interactions of the log, in sequence order.
            through: The last sequence that they cover.
            recorded: Negatives [len, 4] that were drawn when the events were learned first, to be
                used again; None: draw them. If one of an event's negatives is no item, as with
                NO_RECORD, the event's negatives are drawn anew.

        Returns:
            The block to commit.
        """
        size = len(events)
        self.state = with_room(self.state, 1, 1, size)
        width = self._widest_bank
        negatives = np.empty((size, NEGATIVES), np.int32) if recorded is None else recorded.copy()
        caller_negatives = (
            events.negative
            if recorded is None
            else np.where((recorded < self.items).all(axis=1), RECORDED, events.negative)
        )
        scores = np.empty((size, 2), np.float32)
        cosines = np.empty((size, NEGATIVES + 1), np.float32)
        trust = np.empty((size, 2, width), np.float32)
        routers = np.empty((size, 2, WRITTEN), np.uint16)
        weights = np.empty((size, 2, WRITTEN), np.float32)
        learn_block(
            self.state,
            self.combiner,
            LEARN,
            events.user,
            events.item,
            events.day,
            events.time,
            caller_negatives,
            events.weight,
            events.seed,
            negatives,
            scores,
            cosines,
            trust,
            routers,
            weights,
        )
        self.recount_trusting_users(events.user)
        after, self.applied_through = self.applied_through, through
        return LearnedBlock(
            after=after,
            through=through,
            epoch=self.epoch,
            sequence=events.sequence,
            negatives=negatives,
            scores=scores,
            profile_cosines=cosines,
            routers=routers,
            weights=weights,
            trust=trust,
            combiner=pack_combiner(self.combiner),
        )

    def follow(self, events: Interactions, block: LearnedBlock) -> None:
        """Apply a block that was learned before, or by another process.

        Raises:
            DamagedNumbers: The block does not fit; nothing is applied.
        """
        self.state = with_room(self.state, 1, 1, len(events))
        self._check_rows(events, block)
        with name_damage(f"learned block {block.through}", block.after, block.through):
            unpack(self.combiner, block.combiner)
        self._run(FOLLOW, events, block)
        self.applied_through = block.through

    def _run(self, mode: int, events: Interactions, block: LearnedBlock) -> None:
        """Follow a stored block, or learn it again."""
        learn_block(
            self.state,
            self.combiner,
            mode,
            events.user,
            events.item,
            events.day,
            events.time,
            events.negative,
            events.weight,
            events.seed,
            block.negatives,
            block.scores,
            block.profile_cosines,
            block.trust,
            block.routers,
            block.weights,
        )
        self.recount_trusting_users(events.user)

    @property
    def _widest_bank(self) -> int:
        """Return how many routers the larger bank has."""
        return int(max(self.state.session.mass.shape[1], self.state.taste.mass.shape[1]))

    def _check_rows(self, events: Interactions, block: LearnedBlock) -> None:
        """Check the indexes that a block gives to the kernels.

        The kernels do not check them.

        Raises:
            DamagedNumbers: The block is not of these events, or names an unknown item or router.
        """
        banks = np.array([[len(bank.total)] for bank in (self.state.session, self.state.taste)])
        if not (
            np.array_equal(block.sequence, events.sequence)
            and (block.negatives < self.items).all()
            and (block.routers < banks).all()
            and block.trust.shape[2] in (0, banks.max())
        ):
            raise DamagedNumbers(
                f"learned block {block.through} does not match the log, or names an unknown item or"
                " router",
                block.after,
                block.through,
            )

    def follow_all(self, blocks: Sequence[tuple[Interactions, LearnedBlock]]) -> None:
        """Apply several blocks, each from where the one before ends."""
        for events, block in blocks:
            self.follow(events, block)

    def relearn(self, events: Interactions, block: LearnedBlock) -> None:
        """Learn a stored block again, to rebuild the numbers.

        Raises:
            DamagedNumbers: The block does not fit; nothing is applied.
        """
        self.state = with_room(self.state, 1, 1, len(events))
        self._check_rows(events, block)
        # Scores and increments are computed again; those of the stored block stay.
        again = replace(
            block,
            scores=np.empty((len(events), 2), np.float32),
            trust=np.empty((len(events), 2, self._widest_bank), np.float32),
        )
        self._run(RELEARN, events, again)
        self.applied_through = block.through

    def compute_taste_weights(
        self, refs: Sequence[int], count: int
    ) -> list[list[tuple[int, float]]]:
        """Return the `count` largest taste routers of each client, with their weights.

        The weight is pi for users and lift for items. For users without interactions, and items
        with fewer users than `mass_min_support`, the text alone decides. A client that the view
        does not know has no routers.
        """
        clients = np.array(refs, np.int64)
        routers = np.empty((len(clients), count), np.int64)
        values = np.empty((len(clients), count))
        list_taste_rows(
            self.state,
            clients >> 1,
            (clients & 1) == ClientKind.USER,
            clients,
            count,
            routers,
            values,
        )
        return [
            self._compute_taste_of_text(ref, count)
            if row[0] == BY_TEXT
            else [
                (router, value)
                for router, value in zip(row, weights, strict=True)
                if router != NO_ROUTER
            ]
            for ref, row, weights in zip(refs, routers.tolist(), values.tolist(), strict=True)
        ]

    def _compute_taste_of_text(self, ref: int, count: int) -> list[tuple[int, float]]:
        """Weigh routers by the text alone: softmax(8 z.C_k).

        An item's start mass is computed in the same way.

        Returns:
            At most `count` pairs of router and weight, largest first; none for a client without a
            vector.
        """
        row, state = index_of(ref), self.state
        profile = (
            state.user_profile[row] if get_kind(ref) == ClientKind.USER else state.content[row]
        )
        if not profile.any():
            return []
        logits = START_SHARPNESS * (state.taste.centres @ profile).astype(np.float64)
        is_retired = find_retired(state.taste)
        logits[is_retired] = -np.inf
        routers, values = find_softmax_largest(
            logits, min(count, len(state.taste.centres)), ref, state.seed
        )
        return [
            (int(routers[place]), float(values[place]))
            for place in np.argsort(-values, kind="stable")
            if not is_retired[routers[place]]
        ]

    def gauge(self) -> Gauge | None:
        """Read the live gauge: the ranking with and without propagation.

        Returns:
            None before the first interaction with a negative.
        """
        sums = self.combiner.gauge
        counts = sums.course[:, 0]
        through = np.cumsum(counts)
        course = [
            GaugePoint(
                through=int(through[place]),
                interactions=int(counts[place]),
                with_propagation=float(sums.course[place, 1 + ON] / counts[place]),
                without=float(sums.course[place, 1 + OFF] / counts[place]),
            )
            for place in np.flatnonzero(counts)
        ]
        if not course:
            return None
        weight, squares = sums.weight.tolist()
        on, off = (float(sums.recent[arm, 0]) / weight for arm in (ON, OFF))
        spread = max(float(sums.recent[OFF, 1]) / weight - (on - off) ** 2, 0.0)
        ranked = course[-1].through
        return Gauge(
            interactions=ranked,
            with_propagation=on,
            without=off,
            course=course,
            # One interaction has no spread.
            standard_error=float(np.sqrt(spread * squares) / weight) if ranked > 1 else None,
        )

    def adopt(self, other: "NumbersView") -> None:
        """Take over another view's numbers.

        This view keeps its profile vectors and its limits, which are not learned.
        """
        users, items = min(self.users, other.users), min(self.items, other.items)
        other.state.user_profile[:users] = self.state.user_profile[:users]
        other.state.item_profile[:items] = self.state.item_profile[:items]
        other.state.limits[:] = self.state.limits
        self.state, self.combiner = other.state, other.combiner
        self._trusting_users = {}
        self.epoch, self.applied_through = other.epoch, other.applied_through

    def evolve(self, evolved: State, epoch: int) -> None:
        """Go over to the taste bank of the next epoch.

        Args:
            evolved: The next epoch's state, computed from exactly this view's state.
            epoch: The next epoch's number.
        """
        self.state = self.state._replace(taste=evolved.taste, seen_router=evolved.seen_router)
        self._trusting_users = {}
        self.epoch = epoch
