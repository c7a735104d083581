"""Services on one Neo4j, each a process of its own."""

import asyncio
import contextlib
import os
import sys

import grpc

from propagation.v1.propagation_pb2_grpc import PropagationServiceStub

SETTINGS = (
    "store=neo4j",
    "auto_create=true",
    "session.k=4",
    "taste.k=4",
    "table_edges=2",
    "update_size=100",
    "round_interval=2",
    "neo4j.answer_seconds=40",
)  # for so long a service that is frozen inside of a commit makes the others wait
SECONDS = 180


class Service:
    """The process of a service, with a stub to call it."""

    def __init__(self, process, address):
        self.process, self.pid = process, process.pid
        self.channel = grpc.aio.insecure_channel(address)
        self.stub = PropagationServiceStub(self.channel)


@contextlib.asynccontextmanager
async def start_service(folder, settings, name, *more):
    options = [
        part
        for setting in (*SETTINGS, f"neo4j.uri={settings.uri}", *more)
        for part in ("--set", setting)
    ]
    environment = {
        **os.environ,
        "PROPAGATION_NEO4J__PASSWORD": settings.password.get_secret_value(),
        "PYTHONPATH": os.getcwd(),
    }
    with (folder / f"{name}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "services.cli.main",
            "serve",
            "--port",
            "0",
            *options,
            cwd=folder,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    try:
        line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
        assert line, (folder / f"{name}.log").read_text()[-2_000:]
        service = Service(process, line.decode().split()[-1])
        yield service
        await service.channel.close()  # type: ignore[call-arg]
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
