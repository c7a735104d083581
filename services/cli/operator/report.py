"""`propagation report`: one page about a running service."""

from pathlib import Path
from typing import Annotated

import typer

from services.cli.options import LOOPBACK, Address, AsJson
from services.cli.service_call import ask
from services.runtime.console import print_result

Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where the page is written.")
]


def report(
    out: Out = Path("propagation-report.html"), address: Address = LOOPBACK, json: AsJson = False
) -> None:
    """Write one HTML page about a running service; it opens without a network.

    It shows the routers as a map, the reach of messages, quality with and without propagation over
    time, the busiest and slowest parts, and the evolution runs.

    JSON: {"file", "bytes"}.
    """
    from services.report.collect import collect_report
    from services.report.page import render_page

    text = render_page(ask(address, collect_report)).encode()
    out.write_bytes(text)
    print_result({"file": out.resolve(), "bytes": len(text)}, f"{out.resolve()}", json=json)
