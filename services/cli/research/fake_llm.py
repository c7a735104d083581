"""`propagation fake-llm`: a scripted language model for trying things."""

import asyncio
from typing import Annotated

import typer

from services.client.errors import UsageProblem

Port = Annotated[
    int,
    typer.Option(min=0, max=65535, help="Port of this machine to listen on; 0 takes a free one."),
]
Latency = Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How long an answer takes.")]
Jitter = Annotated[
    float, typer.Option(min=0, metavar="SECONDS", help="How much longer or shorter.")
]
Fault = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=SHARE", help="What goes wrong how often, e.g. 429=0.05."),
]
Habit = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A habit of real servers, e.g. think.")
]
Dimension = Annotated[int, typer.Option(min=2, max=4096, help="Of its embeddings.")]
Seed = Annotated[int, typer.Option(min=0, help="Of faults and jitter.")]


def fake_llm(
    port: Port = 8089,
    latency: Latency = 0.0,
    jitter: Jitter = 0.0,
    fault: Fault = None,
    habit: Habit = None,
    seed: Seed = 7,
    dimension: Dimension = 16,
) -> None:
    """Run a scripted model behind the OpenAI wire format until Ctrl-C; it answers by a rule.

    Use it with `propagation serve --set reasoner=openai --set
    openai.base_url=http://127.0.0.1:8089/v1 --set openai.model=scripted`. GET /seen counts the
    requests that it got.
    """
    from services.fake_llm.script import Script
    from services.fake_llm.server import FakeLLM

    try:
        script = Script(
            latency=latency,
            jitter=jitter,
            faults=_shares(fault or []),
            habits=frozenset(habit or []),
            seed=seed,
            dimension=dimension,
        )
    except ValueError as error:
        raise UsageProblem(str(error)) from error

    async def run() -> None:
        server = FakeLLM(script)
        await server.start(port)
        print(f"listening on {server.base_url}", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await server.close()

    asyncio.run(run())


def _shares(given: list[str]) -> dict[str, float]:
    out = {}
    for one in given:
        name, _, share = one.partition("=")
        try:
            out[name] = float(share)
        except ValueError:
            raise UsageProblem(f"--fault {one}: give NAME=SHARE, for example 429=0.05") from None
    return out
