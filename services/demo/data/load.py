"""Upload of the demo's data, with progress."""

from propagation.v1 import propagation_pb2 as pb
from services.client.errors import Refused
from services.client.stub import Stub
from services.client.upload import UploadReport, upload
from services.demo.data.script import DemoScript
from services.runtime.console import progress_bar


async def load_clients(stub: Stub, script: DemoScript) -> UploadReport:
    """Upload all clients, before any event."""
    dataset = script.dataset
    with progress_bar() as bar:
        task = bar.add_task("users and items", total=len(dataset.items) + len(dataset.users))
        return await upload(stub, dataset.clients, (), lambda more: bar.advance(task, more))


async def load_events(stub: Stub, script: DemoScript, start: int, end: int) -> None:
    """Upload events `start` to `end` of the order of time, and run a round.

    Raises:
        Refused: An event was rejected.
    """
    with progress_bar() as bar:
        task = bar.add_task("events", total=end - start)
        report = await upload(
            stub, (), script.dataset.between(start, end), lambda more: bar.advance(task, more)
        )
        if report.outcomes["rejected"]:
            raise Refused(report.examples[0])
        bar.add_task("learn, reason, rounds", total=None)
        await stub.RunRound(pb.RunRoundRequest(drain=True))
