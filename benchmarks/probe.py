"""Time from an event to another user's recommendation, under load.

In a probe, a user adopts an item that no user has adopted before. The clock starts at the ack. It
stops at the first answer, with the event applied, in which the reading s(u,i) of the item (rule 2;
the raw value of a lift part in `explain`) has risen by at least .1 in one of the banks for another
user of the same planted community. For a control user, who reads by none of the routers that the
event wrote to, the reading must not rise at all. Meanwhile 500 events a second are recorded.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.life.background import RATE, background
from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.real_service import Service, serving
from benchmarks.service.town import SIDES, Town, catalogue_town
from propagation.numbers import compute_increments
from propagation.numbers.rules import READ_ROUTERS, compute_routing_weights
from propagation.ports import GraphStore
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.views import NumbersView
from services.assembly import build_engine, build_graph_store
from services.client.stub import connect
from services.config.settings import Settings

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

RISE = 0.1
PATIENCE_SECONDS = 10.0
PROBES, PROBES_SHORT = 100, 5
WRITTEN_AT_MOST = 20
LIFTS = ("lift_session", "lift_taste")
Reading = tuple[float, float]
Routers = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True)
class Probe:
    """Rows of the item, its adopter, the other user and the control.

    Attributes:
        control_routers: The 32 routers of each bank that the control user reads by.
    """

    item: int
    adopter: int
    other: int
    control: int
    control_routers: Routers


@dataclass(frozen=True)
class Outcome:
    """The result of a probe.

    Attributes:
        sequence: The sequence of the probe's event.
        seconds: From the ack to the risen reading; infinite if it did not rise in time.
        control_rose: Whether the control user's reading rose in either bank.
    """

    sequence: int
    seconds: float
    control_rose: bool


def measure(run: Run) -> Figures:
    """Measure the probes.

    If the reading of a control user rises, or one of its routers is written after all, the
    measurement fails: that is no slow probe.
    """
    town = catalogue_town(run.short)
    database = copy_of(town, run)
    yield (
        "event_to_recommendation_s",
        probed(run, Settings(database=database), town, PROBES_SHORT if run.short else PROBES, RATE),
    )


def probed(run: Run, settings: Settings, town: Town, count: int, rate: int) -> float:
    """Return the 99th percentile of the probes' seconds under load.

    Args:
        settings: Those of a service whose database already holds the town.
        count: Number of probes.
        rate: Events a second that are recorded meanwhile.

    Raises:
        RuntimeError: A control user's reading rose, or an event wrote to one of its routers.
    """
    probes = asyncio.run(_chosen(settings, town, count))
    with (
        serving(settings.database) as service,
        background(service.address, town, run, f"{len(probes)} probes", rate),
    ):
        outcomes = asyncio.run(_probed(service, probes))
    asyncio.run(_check_written(settings, probes, outcomes))
    seconds = [outcome.seconds for outcome in outcomes]
    rose = sum(outcome.control_rose for outcome in outcomes)
    run.note(
        f"event to recommendation: p50 {np.percentile(seconds, 50):.3f} s, longest "
        f"{max(seconds):.3f} s; {rose} controls rose"
    )
    if rose:
        raise RuntimeError(f"the reading rose for {rose} control users")
    return float(np.percentile(seconds, 99, method="higher"))


async def _chosen(settings: Settings, town: Town, count: int) -> list[Probe]:
    """Choose `count` probes, spread evenly over all that the numbers allow.

    Background events touch none of their users and items.
    """
    engine = build_engine(settings)
    await engine.open()
    try:
        probes = await engine.numbers.run(lambda view: list(_candidates(view, town)))
    finally:
        await engine.close()
    if len(probes) < count:
        raise RuntimeError(
            f"only {len(probes)} probes with a control can be made in this town; {count} are needed"
        )
    return [probes[place] for place in np.linspace(0, len(probes) - 1, count).astype(int)]


def _candidates(view: NumbersView, town: Town) -> Iterator[Probe]:
    """Yield a probe for each probe item that has a control user.

    The control user belongs to the other half of the town and reads by none of the routers that
    the adopter's event may write to.
    """
    read = {user: _read_by(view, user, READ_ROUTERS) for user in town.probers()}
    for item in town.probe_items():
        community = item % town.communities
        members = [user for user in town.probers() if user % town.communities == community]
        place = (item - town.probe_items().start) // town.communities
        adopter, other = members[2 * place], members[2 * place + 1]
        written = _will_write(view, adopter, item)
        for control in town.probers():
            if control % SIDES != community % SIDES and not _meet(read[control], written):
                yield Probe(item, adopter, other, control, read[control])
                break


def _read_by(view: NumbersView, user: int, count: int) -> Routers:
    return _largest(
        view, user, count, np.zeros((2, view.state.taste.trust.shape[1]), np.float32), (1.0, 1.0)
    )


def _will_write(view: NumbersView, user: int, item: int) -> Routers:
    """Return the routers, by bank, that an adoption may write to.

    Rule 5 writes to the 16 routers of most trust after rule 4. A few more are returned, because
    lifts move a little until the event is learned.
    """
    width = max(view.state.session.mass.shape[1], view.state.taste.mass.shape[1])
    increments = np.empty((2, width), np.float32)
    compute_increments(view.state, item, 1.0, increments)
    return _largest(
        view,
        user,
        WRITTEN_AT_MOST,
        increments,
        (view.state.session.discount, view.state.taste.discount),
    )


def _largest(
    view: NumbersView, user: int, count: int, increments: NDArray[np.float32], discounts: Reading
) -> Routers:
    found = []
    for bank, added, discount in zip(
        (view.state.session, view.state.taste), increments, discounts, strict=True
    ):
        kept = bank.trust[user].copy()
        bank.trust[user] = discount * kept + added[: len(kept)]
        found.append(
            frozenset(compute_routing_weights(bank, user, count, view.state.seed)[0].tolist())
        )
        bank.trust[user] = kept
    return found[0], found[1]


def _meet(read: Routers, written: Routers) -> bool:
    return any(a & b for a, b in zip(read, written, strict=True))


async def _probed(service: Service, probes: list[Probe]) -> list[Outcome]:
    async with connect(service.address) as stub:
        return [await _one(stub, probe) for probe in probes]


async def _one(stub: "PropagationServiceAsyncStub", probe: Probe) -> Outcome:
    other, control = (
        await _reading(stub, probe.other, probe.item),
        await _reading(stub, probe.control, probe.item),
    )
    answer = await stub.RecordInteractions(
        pb.RecordInteractionsRequest(
            interactions=[
                pb.Interaction(
                    event_id=f"probe-{probe.item}",
                    user_id=f"u{probe.adopter}",
                    item_id=f"i{probe.item}",
                )
            ]
        )
    )
    acked = time.monotonic()
    risen = False
    while not risen and time.monotonic() - acked < PATIENCE_SECONDS:
        risen = (
            _most_risen(other, await _reading(stub, probe.other, probe.item, answer.sequence))
            >= RISE
        )
    seconds = time.monotonic() - acked if risen else float("inf")
    after = await _reading(stub, probe.control, probe.item, answer.sequence)
    return Outcome(answer.sequence, seconds, _most_risen(control, after) > 0)


async def _reading(
    stub: "PropagationServiceAsyncStub", user: int, item: int, sequence: int = 0
) -> Reading:
    """Read s(u,i) in both banks, once the numbers reflect `sequence`."""
    answer = await stub.Recommend(
        pb.RecommendRequest(
            user_id=f"u{user}",
            candidate_ids=[f"i{item}"],
            exclude_seen=False,
            explain=True,
            min_sequence=sequence,
        )
    )
    parts = {part.feature: part.raw for part in answer.recommendations[0].explanation.parts}
    return parts[LIFTS[0]], parts[LIFTS[1]]


def _most_risen(before: Reading, after: Reading) -> float:
    return max(new - old for old, new in zip(before, after, strict=True))


async def _check_written(settings: Settings, probes: list[Probe], outcomes: list[Outcome]) -> None:
    """Check that learning wrote to no router of a control user.

    Raises:
        RuntimeError: It wrote to one.
    """
    store = build_graph_store(settings)
    await store.open()
    try:
        for probe, outcome in zip(probes, outcomes, strict=True):
            written = await _written(store, outcome.sequence)
            if _meet(probe.control_routers, written):
                raise RuntimeError(
                    f"the control user of item {probe.item} reads by a router that the probe's"
                    " event wrote to"
                )
    finally:
        await store.close()


async def _written(store: GraphStore, sequence: int) -> Routers:
    (block,) = await store.read_learned(sequence - 1, 1)
    row = int(np.searchsorted(block.sequence, sequence))
    banks = [
        frozenset(block.routers[row, bank][block.weights[row, bank] > 0].tolist())
        for bank in range(2)
    ]
    return banks[0], banks[1]
