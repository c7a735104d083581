"""An application that has installed only the client.

Run `python -I application.py ADDRESS`.
"""

import asyncio
import sys
from importlib.util import find_spec

from propagation.v1 import propagation_pb2 as pb
from propagation_client import PropagationClient, interaction, item_key

ABSENT = ("services", "cypher", "propagation.model", "numpy", "google.rpc")


async def main(address: str) -> None:
    """Record an event and ask for recommendations."""
    for name in ABSENT:
        assert find_spec(name) is None, f"{name} came with the client"
    async with PropagationClient(address, timeout=60) as client:
        await client.upsert(pb.Client(key=item_key(f"i{n}"), title=f"Record {n}") for n in range(4))
        event = interaction("ann", "i0", event_id="order-1")
        recorded = await client.record([event, event])
        assert [outcome.status for outcome in recorded.outcomes] == [
            pb.INTERACTION_STATUS_ACCEPTED,
            pb.INTERACTION_STATUS_DUPLICATE,
        ], recorded
        answer = await client.recommend("ann", min_sequence=client.written_through, explain=True)
        items = [one.item_id for one in answer.recommendations]
        assert sorted(items) == ["i1", "i2", "i3"], answer
        assert answer.reflects.applied_through >= recorded.sequence
    print(f"recorded an event at sequence {recorded.sequence}, and was recommended {items}")


asyncio.run(main(sys.argv[1]))
