"""The real service as a process to be killed, and its caller.

The caller remembers which events the service acknowledged.
"""

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub

SETTINGS = ("session.k=4", "taste.k=4", "table_edges=2", "update_size=20", "round_interval=1")
READY_SECONDS = 180
USERS, ITEMS, BATCH = 40, 60, 25


class ServiceProcess:
    """`propagation serve` on a database file, to be started and ended."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._log = database.with_suffix(".log")
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> str:
        """Start the service, and return its address once it listens."""
        options = [part for setting in SETTINGS for part in ("--set", setting)]
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "services.cli.main",
                "serve",
                "--database",
                str(self._database),
                "--port",
                "0",
                "--auto-create",
                *options,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=os.environ.copy(),
            )
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), READY_SECONDS)
        if not line:
            raise AssertionError(f"the service did not start: {self._log.read_text()[-2_000:]}")
        return line.decode().split()[-1]

    async def end(self, how: signal.Signals) -> int:
        """End the service; return its exit code (negative: the signal)."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(how)
        await self._process.communicate()
        return self._process.returncode or 0


@dataclass
class Caller:
    """Pushes events without end.

    Attributes:
        acked: Sequences of acknowledged events, by event id.
        sent: All events that the caller ever sent, by event id.
        next_event: Number of the next new event.
    """

    acked: dict[str, int] = field(default_factory=dict)
    sent: dict[str, pb.Interaction] = field(default_factory=dict)
    next_event: int = 0

    async def push(self, address: str) -> None:
        """Push until the service is gone.

        Events without an acknowledgement are sent again first, as a careful caller does.
        """
        async with grpc.aio.insecure_channel(address) as channel:
            stub = PropagationServiceStub(channel)
            with contextlib.suppress(grpc.aio.AioRpcError):
                while True:
                    await asyncio.gather(
                        *(
                            self._ask(stub, batch)
                            for batch in (self._unacknowledged(), self._fresh())
                        ),
                        self._title(stub),
                    )

    def _unacknowledged(self) -> list[pb.Interaction]:
        return [event for id_, event in self.sent.items() if id_ not in self.acked][:1_000]

    def _fresh(self) -> list[pb.Interaction]:
        events = []
        for _ in range(BATCH):
            n = self.next_event
            self.next_event += 1
            events.append(
                pb.Interaction(
                    event_id=f"event {n}", user_id=f"u{n * 7 % USERS}", item_id=f"i{n * n % ITEMS}"
                )
            )
        return events

    async def _ask(self, stub: PropagationServiceStub, events: list[pb.Interaction]) -> None:
        if not events:
            return
        self.sent.update((event.event_id, event) for event in events)
        answer = await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=events))
        for outcome in answer.outcomes:
            assert outcome.status in (
                pb.INTERACTION_STATUS_ACCEPTED,
                pb.INTERACTION_STATUS_DUPLICATE,
            ), outcome
            assert self.acked.setdefault(outcome.event_id, outcome.sequence) == outcome.sequence

    async def _title(self, stub: PropagationServiceStub) -> None:
        """Change the title and the attribute of an item."""
        n = self.next_event // BATCH
        await stub.UpsertClients(
            pb.UpsertClientsRequest(
                clients=[
                    pb.Client(
                        key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n % ITEMS}"),
                        title=f"Record {n % 7}",
                        attributes=[("jazz", "opera", "rock")[n % 3]],
                    )
                ]
            )
        )


async def drain(address: str, seconds: float) -> None:
    """Wait until everything recorded is learned and reasoned."""
    async with grpc.aio.insecure_channel(address) as channel:
        await PropagationServiceStub(channel).RunRound(
            pb.RunRoundRequest(drain=True), timeout=seconds
        )
