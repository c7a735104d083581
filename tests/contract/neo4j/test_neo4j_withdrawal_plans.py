"""A withdrawal's statements are planned before the first one, or while the texts are searched.

The commit locks the log, and a server that has just started takes 12 s to plan its statements."""

import pytest

from propagation.model import Attribute, EntryKind, Withdrawal
from tests.contract.graph_store import (
    MAKERS,
    TurnedClock,
    checkpoint,
    edge,
    gradient,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
    withdraw,
)

pytestmark = pytest.mark.neo4j
ANN, BOB = user(0), user(1)


async def record_history(store):
    sequences = await record_pairs(store, ("ann", "blue"), ("bob", "blue"), ("ann", "red"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(
                sequences[0], text(ANN, 1), gradients=(gradient(sequences[0], 3),)
            ),
            reasoned_interaction(sequences[1], text(BOB, 1)),
            reasoned_interaction(sequences[2]),
        ],
    )
    await run_round(store, versions=(message(3, 1, ANN, BOB),), opened=(edge(3, BOB),))


async def list_sent(store, monkeypatch, work):
    """The names of the statements that `work` sends, in order."""
    sent = []
    query = store.database.query

    def note(name, parameters):
        sent.append(name)
        return query(name, parameters)

    with monkeypatch.context() as patch:
        patch.setattr(store.database, "query", note)
        await work
    return sent


async def prepare(store):
    async for _ in store.prepare_withdrawal(search=False):
        pass


@pytest.mark.parametrize("kind", [EntryKind.ERASURE, EntryKind.RETRACTION])
async def test_every_statement_of_the_commit_is_planned_before(tmp_path, monkeypatch, kind):
    store = MAKERS["neo4j"](tmp_path, TurnedClock())
    await store.open()
    try:
        await record_history(store)
        lease = await store.acquire_lease("learn", "test", 10_000)
        erases = kind is EntryKind.ERASURE
        withdrawal = Withdrawal(
            kind=kind,
            refs=(ANN,),
            interactions=await store.get_interactions_of_clients([ANN]),
            erased=ANN if erases else None,
            texts_read_through=await store.get_texts_through(),
            rewritten=[text(BOB, 1)],
            texts=[text(BOB, 2)],
            reduced_messages={(3, 1): frozenset({"blue"})},
            messages=[message(3, 1, BOB)],
            client_attributes={BOB: ()},
            recounted=[Attribute(name="blue")],
            postponed=b"",
            words=frozenset({"ann"}),
        )
        await store.database.after_commit.finish()
        sent = await list_sent(
            store, monkeypatch, withdraw(store, lease, withdrawal, checkpoint(3, barrier=True))
        )
        commit = sent[sent.index("record/log/lock_log") : sent.index("record/log/set_log_end")]
        assert len(commit) > 30
        await store.database.after_commit.finish()
        planned = await list_sent(store, monkeypatch, prepare(store))
        assert {*commit} <= {*planned}, "none of them is planned while the log is locked"
    finally:
        await store.close()


async def test_a_withdrawal_leaves_no_text_in_memory(tmp_path):
    store = MAKERS["neo4j"](tmp_path, TurnedClock())
    await store.open()
    try:
        await record_history(store)
        assert store.newest_texts.find({ANN: 1, BOB: 1}).keys() == {ANN, BOB}
        lease = await store.acquire_lease("learn", "test", 10_000)
        withdrawal = Withdrawal(
            kind=EntryKind.RETRACTION,
            refs=(ANN,),
            interactions=await store.get_interactions_of_clients([ANN]),
            texts_read_through=await store.get_texts_through(),
        )
        await withdraw(store, lease, withdrawal, checkpoint(3, barrier=True))
        assert store.newest_texts.find({ANN: 1, BOB: 1}) == {}
    finally:
        await store.close()
