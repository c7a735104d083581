"""`propagation demo`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Your own data; default: a generated town with planted waves.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the generated town, and of everything that is drawn.")]


def demo(data: Data = None, seed: Seed = 7) -> None:
    """A real service of its own, a dataset through its API, and what propagation does to it, in under three minutes.

    Leaves a picture and a page in demo-out; the service stops with the demo, and its database is removed."""
    from services.demo.show import demo as show

    asyncio.run(show(data, seed))
