"""ForgetClient of clients with a thousand events, over gRPC.

There are 150,000 clients and a million interactions.
"""

import asyncio
import mmap
import os
import time
from pathlib import Path

import grpc
import numpy as np

from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.real_service import serving
from benchmarks.service.town import Town, lived_town, pairs_of
from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc

EVENTS, EVENTS_SHORT = 1_000, 50
USERS, ITEMS = 3, 2
PATIENCE_SECONDS = 600.0


def measure(run: Run) -> Figures:
    """Measure the slowest erasure of a client, without and with wiping.

    An erasure removes everything of the client from the rows. The wipe rewrites the database, so
    that no byte of the file holds any of it. The users' thousand events are the newest; the items'
    adopters are spread over the whole log.
    """
    town = lived_town(run.short)
    database = copy_of(town, run)
    with serving(database, "--auto-create") as service:
        took = asyncio.run(forgotten(service.address, town, EVENTS_SHORT if run.short else EVENTS))
    run.note(
        ", ".join(
            f"{client} with {events:,} events in {seconds:.2f} s"
            for client, events, seconds in took
        )
        + f"; file {os.path.getsize(database) / 1e6:,.0f} MB"
    )
    left = [client for client, _, _ in took if _is_left(database, client)]
    if left:
        raise RuntimeError(f"still in the file: {left}")
    *erasures, wiped = (seconds for _, _, seconds in took)
    yield "forget_s", max(erasures)
    yield "forget_and_wipe_s", wiped


async def forgotten(address: str, town: Town, events: int) -> list[tuple[str, int, float]]:
    """Forget clients, and return (id, events erased, seconds) of each.

    The last client is wiped from the files, too.
    """
    async with grpc.aio.insecure_channel(address) as channel:
        stub = pb_grpc.PropagationServiceStub(channel)
        keys = [
            pb.ClientKey(kind=pb.CLIENT_KIND_USER, id=f"forgotten-user-{n}") for n in range(USERS)
        ]
        for n, key in enumerate(keys):
            await stub.RecordInteractions(
                pb.RecordInteractionsRequest(
                    interactions=[
                        pb.Interaction(
                            event_id=f"{key.id}-{place}", user_id=key.id, item_id=f"i{item}"
                        )
                        for place, item in enumerate(
                            pairs_of(town, events, town.seed + n)[:, 1].tolist()
                        )
                    ]
                )
            )
        await stub.RunRound(pb.RunRoundRequest(drain=True), timeout=PATIENCE_SECONDS)
        keys[-1:-1] = [
            pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{row}")
            for row in _items_with(town, events)
        ]
        took = []
        for key in keys:
            started = time.monotonic()
            answer = await stub.ForgetClient(
                pb.ForgetClientRequest(key=key, wipe=key is keys[-1]), timeout=PATIENCE_SECONDS
            )
            took.append((key.id, answer.events_erased, time.monotonic() - started))
        return took


def _items_with(town: Town, events: int) -> list[int]:
    """Return the rows of the ITEMS items with nearest to `events` adoptions."""
    counts = np.bincount(pairs_of(town, town.interactions, town.seed)[:, 1], minlength=town.items)
    return np.argsort(np.abs(counts - events), kind="stable")[:ITEMS].tolist()


def _is_left(database: Path, client: str) -> bool:
    """Tell whether a user's id is left in the database file.

    For an item it is always False: ids of items are parts of other ids here.
    """
    if not client.startswith("forgotten"):
        return False
    with database.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(client.encode()) >= 0
