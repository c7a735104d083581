"""What an evolution publishes, for cases of every store."""

import numpy as np

from propagation.model import (
    Epoch,
    EvolutionChange,
    EvolutionKind,
    EvolutionRun,
    FilterMemory,
    FilterRule,
    Halves,
    RouterMap,
)
from propagation.ports import Publication
from tests.contract.graph_store import checkpoint, edge, message, user

ANN, BOB = user(0), user(1)
SPLIT = EvolutionChange(
    kind=EvolutionKind.SPLIT, before=(1,), after=(1, 4), reason="two communities"
)
MERGE = EvolutionChange(kind=EvolutionKind.MERGE, before=(2, 3), after=(2,))
REPORT = EvolutionRun(
    changes=(SPLIT, MERGE),
    verdict="better",
    judged_from=3,
    users=2,
    interactions=5,
    log_loss_before=0.7,
    log_loss_after=0.6,
    standard_error=0.05,
)


def router_map(through, epoch=0, **fields):
    halves = {1: Halves(1, 4, np.array([True, False, True]), False, 0.25)}
    return RouterMap(
        run=0,
        through=through,
        from_epoch=epoch,
        to_epoch=epoch + 1,
        home=np.array([0, 1, 2, 2]),
        routers=5,
        centres=np.arange(8, dtype=np.float32).reshape(4, 2),
        retired=frozenset({3}),
        halves=halves,
        start_shares={2: 0.5, 3: 0.5},
        versions={1: 7},
        **fields,
    )


def rules(*routers):
    return FilterMemory(
        rules=tuple(FilterRule(router=router, factor=0.4, text="Leave out.") for router in routers)
    )


async def acquire_leases(store):
    return await store.acquire_lease("learn", "test", 60_000), await store.acquire_lease(
        "round", "test", 60_000
    )


async def stage_publication(store, *texts, number=1, era=0, report=REPORT, **fields):
    """Stage a run over everything learned, with a message of router 4 to Ann.

    Returns:
        The learner's lease, the round lease, and what is to be published under them.
    """
    learn, rounds = await acquire_leases(store)
    round_ = await store.begin_round(rounds, 0)
    await store.stage_routers(rounds, round_, [message(4, number)])
    await store.stage_edges(rounds, round_, (), [edge(4, ANN)] if number == 1 else [])
    through = await store.get_learned_through()
    return (
        learn,
        rounds,
        Publication(
            run=report,
            map=router_map(through, number - 1, **fields),
            round_=round_,
            epoch=Epoch(number=number, sequence=0, session_k=4, taste_k=5, era=era),
            start=await store.stage_checkpoint(
                learn, checkpoint(through, barrier=True, epoch=number)
            ),
            texts=texts,
        ),
    )
