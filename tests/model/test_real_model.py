"""Ten interactions, a round and a ranking with a real model, whose server is killed meanwhile.

Nothing here asks whether the model is clever.
"""

import asyncio
import os
import sqlite3
import sys
from contextlib import asynccontextmanager, closing

import grpc
import pytest

from propagation.adapters.openai.prompting.degenerate_text import AskedTexts, TextCheck, find_reason
from propagation.adapters.openai.prompts import (
    backward,
    extract,
    forward,
    gradient,
    predict,
    rank,
    summarize,
)
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from tests.model.model_server import CONTEXT_TOKENS, SLOTS
from tests.waiting import wait_until

pytestmark = [pytest.mark.model, pytest.mark.timeout(1_800)]

TEST_SECONDS = 900
READ_SECONDS = 5
ITEM, USER = pb.CLIENT_KIND_ITEM, pb.CLIENT_KIND_USER
RECORDS = {
    "Night Train": "jazz",
    "Winter Songs": "folk",
    "River Dub": "reggae",
    "La Traviata": "opera",
}
CATALOGUE = [
    pb.Client(key=pb.ClientKey(kind=ITEM, id=f"i{n}"), title=title, categories=[style])
    for n, (title, style) in enumerate(RECORDS.items())
]
ITEM_IDS = [client.key.id for client in CATALOGUE]
USER_IDS = [f"u{n}" for n in range(5)]
EVENTS = [
    pb.Interaction(
        event_id=f"e{n}",
        user_id=USER_IDS[n % 5],
        item_id=ITEM_IDS[n % 4],
        negative_item_id=ITEM_IDS[(n + 1) % 4],
    )
    for n in range(10)
]
BEFORE_KILL = 5
SETTINGS = (
    "reasoner=openai",
    "openai.model=smollm2",
    f"openai.context_tokens={CONTEXT_TOKENS}",
    f"openai.in_flight={SLOTS}",
    "openai.timeout=120",
    "session.k=2",
    "taste.k=2",
    "table_edges=2",
    "buffer=1",
    "profile_lines=3",
    "bootstrap_items=4",
    "update_size=1000",
    "round_interval=3600",
    "auto_create=true",
)
ASKED = [
    AskedTexts(
        module.PROMPT.instructions,
        outcome,
        tuple(word.casefold() for pair in RECORDS.items() for word in pair),
    )
    for module in (backward, extract, forward, gradient, predict, rank, summarize)
    for outcome in gradient.OUTCOMES.values()
]


@asynccontextmanager
async def start_service(folder, base_url):
    command = [sys.executable, "-m", "services.cli.main", "serve", "--port", "0"]
    command += ["--database", str(folder / "graph.db"), "--set", f"openai.base_url={base_url}"]
    command += [part for setting in SETTINGS for part in ("--set", setting)]
    with (folder / "service.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=log, env=os.environ.copy()
        )
    try:
        address = (await process.stdout.readline()).decode().split()[-1]
        async with grpc.aio.insecure_channel(address) as channel:
            yield PropagationServiceStub(channel)
        process.terminate()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def record(stub, events):
    answer = await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=events))
    assert [outcome.status for outcome in answer.outcomes] == [
        pb.INTERACTION_STATUS_ACCEPTED
    ] * len(events)
    return [outcome.sequence for outcome in answer.outcomes]


async def read_status(stub):
    return await stub.GetStatus(pb.GetStatusRequest(), timeout=READ_SECONDS)


async def wait_for_status(stub, holds):
    async def find():
        status = await read_status(stub)
        return status if holds(status) else None

    return await wait_until(find, TEST_SECONDS, pause=0.2)


async def rank_candidates(stub, ranker, sequence, seconds):
    answer = await stub.Recommend(
        pb.RecommendRequest(
            user_id="u0",
            candidate_ids=ITEM_IDS,
            exclude_seen=False,
            ranker=ranker,
            min_sequence=sequence,
        ),
        timeout=seconds,
    )
    assert sorted(one.item_id for one in answer.recommendations) == ITEM_IDS
    return answer


async def collect_texts(stub):
    """Return the texts and the attributes that the service shows of clients and routers."""
    texts, names = [], []
    keys = [pb.ClientKey(kind=ITEM, id=id_) for id_ in ITEM_IDS]
    keys += [pb.ClientKey(kind=USER, id=id_) for id_ in USER_IDS]
    for key in keys:
        profile = (await stub.GetProfile(pb.GetProfileRequest(key=key))).profile
        parts = (*profile.lines, *profile.filter_memory, *profile.waiting)
        texts += [part.text for part in parts]
        for part in (*profile.lines, *profile.waiting):
            names += part.attributes
    routers = await stub.ListRouters(pb.ListRoutersRequest(bank=pb.BANK_TASTE))
    for router in routers.routers:
        texts.append(router.text)
        names += router.attributes
    return list(filter(None, texts)), names


def read_database(folder, statement):
    with closing(sqlite3.connect(folder / "graph.db")) as connection:
        return [row[0] for row in connection.execute(statement)]


def check_texts(texts, names):
    found = {text: [find_reason(text, asked) for asked in ASKED] for text in texts}
    faults = {text: fault for text, reasons in found.items() for fault in filter(None, reasons)}
    assert not faults
    refused = {name for name in names if TextCheck(ASKED[0]).keep_names([name]) != [name]}
    assert not refused


async def test_ten_interactions_a_round_and_a_ranking(tmp_path, model):
    async with asyncio.timeout(TEST_SECONDS), start_service(tmp_path, model.base_url) as stub:
        await stub.UpsertClients(pb.UpsertClientsRequest(clients=CATALOGUE))
        await wait_for_status(
            stub, lambda status: status.bootstrapped and not status.clients_to_describe
        )
        sequences = await record(stub, EVENTS[:BEFORE_KILL])
        await wait_for_status(stub, lambda status: status.reasoned_through >= sequences[0])
        await model.kill()
        sequences += await record(stub, EVENTS[BEFORE_KILL:])
        status = await wait_for_status(stub, lambda status: "reason" in status.failing)
        assert status.reasoned_through < sequences[-1]
        await rank_candidates(stub, pb.RANKER_NUMBERS, sequences[-1], READ_SECONDS)

        await model.start()
        status = await wait_for_status(
            stub, lambda status: status.reasoned_through == status.recorded_through
        )
        assert status.dead_letters == 0, status.newest_dead_letters
        answer = await stub.RunRound(pb.RunRoundRequest(drain=True))
        assert answer.round.changed_clients > 0, answer
        ranked = await rank_candidates(stub, pb.RANKER_REASONER, None, TEST_SECONDS)
        assert ranked.ranked_by in (pb.RANKER_REASONER, pb.RANKER_NUMBERS)

        spending = (await read_status(stub)).spending
        calls = {one.prompt.partition("@")[0]: one.calls for one in spending.ever}
        # Whether routers have something to say depends on the attributes that the model gave.
        assert {"extract", "predict", "backward", "rank"} <= set(calls), calls
        texts, names = await collect_texts(stub)
    texts += read_database(tmp_path, "SELECT text FROM gradient")
    assert sorted(read_database(tmp_path, "SELECT sequence FROM reasoned")) == sequences
    assert set(read_database(tmp_path, "SELECT fallback FROM reasoned")) == {None}
    check_texts(texts, names)
