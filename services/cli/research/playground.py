"""`propagation demo` and `fake-llm`: a tour, and a scripted language model.

The scripted model lets you try the service without a real one.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import typer

from services.client.errors import UsageProblem


def demo(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Your own data; default: a generated town with planted waves."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the generated town and of all random draws.")
    ] = 7,
    llm: Annotated[
        Literal["fake"] | None,
        typer.Option(
            "--llm",
            help="A scripted language model reasons, over fewer events; a real endpoint belongs"
            " in the settings of `serve`.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="End by itself, without the web page.")
    ] = False,
) -> None:
    """Show what propagation does to a dataset.

    A service is run, and the dataset is loaded through its API. This takes less than three minutes
    and leaves a picture, a report and the service's log in demo-out. Then the service's web page
    shows it all until Ctrl-C. When the demo ends, the service is stopped and its database is
    deleted. The demo reads no settings file and no PROPAGATION_ variable.
    """
    from services.demo.run import demo as show
    from services.runtime.kernel_cache import compile_kernels

    compile_kernels()
    asyncio.run(show(data, seed, scripted=llm is not None, once=once))


def fake_llm(
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of this machine to listen on; 0 takes a free one."
        ),
    ] = 8089,
    latency: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long an answer takes.")
    ] = 0.0,
    jitter: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="By how much the latency varies.")
    ] = 0.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SHARE", help="How often a fault occurs, e.g. 429=0.05."),
    ] = None,
    habit: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A habit of real servers, e.g. think.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of faults and jitter.")] = 7,
    dimension: Annotated[
        int, typer.Option(min=2, max=4096, help="Dimension of its embeddings.")
    ] = 16,
) -> None:
    """Run a scripted language model behind the OpenAI wire format.

    The model answers by a rule, until Ctrl-C.

    Use it with `propagation serve --set reasoner=openai --set
    openai.base_url=http://127.0.0.1:8089/v1 --set openai.model=scripted`. GET /seen returns counts
    of the requests that arrived.
    """
    from services.fake_llm.script import Script
    from services.fake_llm.server import fake_llm as serve

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
        async with serve(script, port) as server:
            print(f"listening on {server.base_url}", flush=True)
            await asyncio.Event().wait()

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
