"""`propagation report`."""

from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import LOOPBACK, Address, AsJson
from services.cli.service_call import ask
from services.runtime.console import console, print_json

Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where the page is written.")
]


def report(
    out: Out = Path("propagation-report.html"), address: Address = LOOPBACK, json: AsJson = False
) -> None:
    """One HTML page about a running service, which opens without network: the routers as a map, how
    far messages reached, quality over time with propagation and without, the busiest and slowest
    parts, and what evolution did.

    JSON: {"file", "bytes"}."""
    from services.report.collect import collect_report
    from services.report.page import render_page

    text = render_page(ask(address, collect_report)).encode()
    out.write_bytes(text)
    print_json({"file": out.resolve(), "bytes": len(text)}) if json else console().print(
        f"{out.resolve()}", markup=False
    )
