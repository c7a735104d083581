"""Data into the service, and rounds, with progress."""

from typing import TYPE_CHECKING

from propagation.v1 import propagation_pb2 as pb
from services.client.errors import Refused
from services.client.upload import UploadReport, upload
from services.demo.data.script import Plan
from services.runtime.console import progress_bar

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub


async def load_clients(stub: "PropagationServiceAsyncStub", plan: Plan) -> UploadReport:
    """Everybody and everything, before any event."""
    dataset = plan.dataset
    with progress_bar() as bar:
        task = bar.add_task("users and items", total=len(dataset.items) + len(dataset.users))
        return await upload(stub, dataset.clients, (), lambda more: bar.advance(task, more))


async def load_events(
    stub: "PropagationServiceAsyncStub", plan: Plan, start: int, end: int
) -> None:
    """Events `start` to `end` of the time order, processed, and a round behind them. Raises Refused
    where one is rejected."""
    with progress_bar() as bar:
        task = bar.add_task("events", total=end - start)
        report = await upload(
            stub, (), plan.dataset.between(start, end), lambda more: bar.advance(task, more)
        )
        if report.outcomes["rejected"]:
            raise Refused(report.examples[0])
        bar.add_task("learn, reason, rounds", total=None)
        await stub.RunRound(pb.RunRoundRequest(drain=True))
