"""`propagation demo`: a tour."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from services.client.errors import UsageProblem

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Your own data; default: a generated town with planted waves."
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Of the generated town, and of everything that is drawn.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--llm", metavar="fake", help="A scripted language model reasons, over fewer events."
    ),
]


def demo(data: Data = None, seed: Seed = 7, llm: Model = None) -> None:
    """Run a service, load a dataset through its API, and show what propagation does to it.

    It takes less than three minutes and leaves a picture and a page in demo-out. The service and
    its database go when the demo ends.
    """
    from services.demo.run import demo as show

    if llm not in (None, "fake"):
        raise UsageProblem(
            f"--llm is {llm!r}: there is only fake; a real endpoint belongs into the "
            "settings of "
            "`serve`"
        )
    asyncio.run(show(data, seed, scripted=llm == "fake"))
