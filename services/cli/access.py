"""Options that commands share, and functions that open what the options name.

An option may name settings, a service or a database.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from propagation.v1 import propagation_pb2 as pb
from services.client.errors import NotReady, Unreachable, UsageProblem
from services.runtime.console import print_error

if TYPE_CHECKING:
    from propagation.ports import GraphStore
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub
    from propagation.workflow.engine import Engine
    from services.config.settings import Settings
    from services.config.sources import LoadedSettings

LOOPBACK = "127.0.0.1:50051"
RESULTS_ENDINGS = (".csv", ".npz")


def parse_as_of(text: str) -> pb.AsOf:
    """Parse a sequence, or a time in ISO 8601.

    Digits are a sequence.

    Raises:
        UsageProblem: The text is neither.
    """
    try:
        if text.isascii() and text.isdigit():
            return pb.AsOf(sequence=int(text))
        moment = pb.AsOf()
        moment.commit_time.FromDatetime(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise UsageProblem(
            f"--as-of is {text!r}; give a sequence (4711) or a time (2026-11-22T03:00:00Z)"
        ) from None
    return moment


def check_folder(path: Path | None) -> Path | None:
    """Check the folder of an output file, before minutes of work.

    Raises:
        BadParameter: The folder does not exist.
    """
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(
            f"{path.absolute().parent} is not a folder; create it, or name another file"
        )
    return path


def check_output_file(path: Path | None) -> Path | None:
    """Check the name and the folder of an output file.

    Raises:
        BadParameter: The folder does not exist, or the file is `-`, which is not stdout here.
    """
    if str(path) == "-":
        raise typer.BadParameter("this command cannot write to stdout (-); name a file")
    return check_folder(path)


def check_ending(option: str, path: Path | None, endings: Collection[str]) -> None:
    """Check the ending of a file's name before minutes of work.

    Raises:
        UsageProblem: The name has another ending.
    """
    if path is not None and path.suffix.lower() not in endings:
        raise UsageProblem(
            f"{option} {path}: the name ends in {path.suffix or 'nothing'};"
            f" give one of {', '.join(endings)}"
        )


Address = Annotated[
    str,
    typer.Option(envvar="PROPAGATION_ADDRESS", metavar="HOST:PORT", help="The service to talk to."),
]
ServiceOrDatabase = Annotated[
    str | None,
    typer.Option(
        "--address",
        envvar="PROPAGATION_ADDRESS",
        metavar="HOST:PORT",
        help=f"The service to ask; default: {LOOPBACK} if one runs there, else the database.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, for programs.")]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Settings file; default: propagation.toml here, if any."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting; may be repeated."),
]
Database = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The SQLite file; default: the setting `database`."),
]
Moment = Annotated[
    pb.AsOf | None,
    typer.Option(
        "--as-of",
        parser=parse_as_of,
        metavar="SEQUENCE|TIME",
        help=(
            "The state at this sequence, or at this time of the service's clock "
            "(2026-11-22T03:00:00+01:00; without a zone: UTC)."
        ),
    ),
]
Folder = Annotated[
    Path,
    typer.Argument(
        help="MovieLens, RecBole atomic files, or clients.jsonl and events.jsonl: docs/data.md."
    ),
]
First = Annotated[
    int | None,
    typer.Option(
        "-n", "--first", "--limit", metavar="N", min=1, help="The earliest N events only."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Count = Annotated[int, typer.Option("-n", "--count", "--limit", min=1, max=1000, help="How many.")]
T = TypeVar("T")
Opened = TypeVar("Opened", "Engine", "GraphStore")
WAIT_SECONDS, WAIT_PAUSE_SECONDS = 300.0, 0.5
WAIT_TO_LISTEN_SECONDS = 20.0
KINDS = {"user": pb.CLIENT_KIND_USER, "item": pb.CLIENT_KIND_ITEM}


def load_settings(
    config: Path | None, assignments: list[str] | None, **flags: object
) -> "LoadedSettings":
    """Load the settings from all sources.

    Args:
        flags: A command's flags by setting, with __ for the dot; None if not given.
    """
    from services.config.sources import (
        Entry,
        SettingSource,
        SourceKind,
        load_settings,
        parse_assignments,
    )

    named = {
        key.replace("__", "."): Entry(
            value, SettingSource(SourceKind.FLAG, f"--{key.rpartition('__')[2].replace('_', '-')}")
        )
        for key, value in flags.items()
        if value is not None
    }
    return load_settings(config, os.environ, named | parse_assignments(assignments or []))


def get_settings(config: Path | None, assignments: list[str] | None, **flags: object) -> "Settings":
    """Load the settings of a command."""
    return load_settings(config, assignments, **flags).settings


def ask(
    address: str,
    call: "Callable[[PropagationServiceAsyncStub], Awaitable[T]]",
    goes_on: str = "",
    *,
    wait: float = WAIT_SECONDS,
    wait_to_listen: float = 0.0,
) -> T:
    """Run `call` with a stub of the service.

    As long as the service is starting, the call is repeated.

    Args:
        goes_on: Printed at Ctrl-C, if the service goes on with the work; "" prints nothing.
        wait: How many seconds to wait at most for a service that is starting.
        wait_to_listen: How many of these seconds to wait for a service that does not even listen
            yet.

    Raises:
        Unreachable: There is no service.
        NotReady: The service was still starting after `wait` seconds.
        Refused: The service refused the call.
    """
    try:
        return asyncio.run(_call_when_ready(address, call, wait, wait_to_listen))
    except KeyboardInterrupt:
        if goes_on:
            print("propagation:", goes_on, file=sys.stderr)
        raise


def ask_or_open(
    address: str | None,
    ask_service: Callable[[str], T],
    open_database: Callable[[], T],
    *,
    database_named: bool,
) -> T:
    """Ask a service, or open the database if none runs.

    Args:
        address: The service that the caller named; None: that of this machine, if it runs.
        ask_service: Asks the service at an address.
        open_database: Does the same on the database.
        database_named: Whether the caller named a database or settings: then no service is asked.

    Raises:
        UsageProblem: Both were named.
        Unreachable: The caller named a service that does not answer.
    """
    if database_named:
        if address is not None and address != os.environ.get("PROPAGATION_ADDRESS"):
            raise UsageProblem("give either --address or a database (--database, --config, --set)")
        return open_database()
    if address is not None:
        return ask_service(address)
    try:
        return ask_service(LOOPBACK)
    except Unreachable:
        print_error(f"no service answers at {LOOPBACK}: opening the database")
        return open_database()


async def _call_when_ready(
    address: str,
    call: "Callable[[PropagationServiceAsyncStub], Awaitable[T]]",
    wait: float,
    wait_to_listen: float,
) -> T:
    from services.client.stub import build_credentials, connect, wait_until_listening

    end, shown = time.monotonic() + wait, ""
    if wait_to_listen:
        await wait_until_listening(
            address, wait_to_listen, lambda why: print_error(f"waiting: {why}")
        )
    while True:
        try:
            async with connect(address, build_credentials(os.environ)) as stub:
                return await call(stub)
        except NotReady as error:
            if time.monotonic() >= end:
                raise
            if str(error) != shown:
                print_error(f"waiting: {error}")
                shown = str(error)
            await asyncio.sleep(WAIT_PAUSE_SECONDS)


def build_client_key(kind: str, name: str) -> pb.ClientKey:
    """Return the key of a user or an item."""
    return pb.ClientKey(kind=KINDS[kind], id=name)


def split_key(text: str) -> pb.ClientKey:
    """Split user:ID or item:ID at the first colon.

    Raises:
        UsageProblem: The text is no key.
    """
    kind, _, name = text.partition(":")
    if kind not in KINDS or not name:
        raise UsageProblem(f"{text!r} is not a client; give user:ID or item:ID")
    return build_client_key(kind, name)


def name_kind(kind: int) -> str:
    """Return the word for a client's kind: user or item."""
    return "user" if kind == pb.CLIENT_KIND_USER else "item"


def require_existing_database(settings: "Settings") -> "Settings":
    """Return the settings if their database exists.

    A database on a server is not checked: whether it exists shows only when it is opened.

    Raises:
        UsageProblem: There is no such file.
    """
    if settings.graph_file and not settings.graph_file.exists():
        raise UsageProblem(f"{settings.database} does not exist; name the database with --database")
    return settings


def require_database_in_file(settings: "Settings", *, exists: bool = True) -> "Settings":
    """Return the settings if their database is a file.

    Args:
        exists: Whether there must be such a file.

    Raises:
        UsageProblem: The database is on a server, or there is no such file.
    """
    if settings.graph_file is None:
        raise UsageProblem(
            f"the graph is on {settings.graph}, not in a file: back it up and restore it with the"
            " server's own tools (neo4j-admin)"
        )
    return require_existing_database(settings) if exists else settings


def with_engine(
    settings: "Settings",
    work: "Callable[[Engine], Awaitable[T]]",
    *,
    create: bool = False,
    adopt: bool = False,
) -> T:
    """Open an engine, run `work` on it, and close it.

    The engine is closed even if `work` fails.

    Args:
        create: Create the database file if it does not exist.
        adopt: Open data that was made with other settings, for `work` that makes it fit.

    Raises:
        StoreBusy: Another process holds the database; the message names it.
        UsageProblem: There is no such file.
    """
    if not create:
        require_existing_database(settings)
    from services.assembly import build_engine
    from services.runtime.kernel_cache import compile_kernels
    from services.runtime.process import raise_garbage_thresholds

    async def open_engine(engine: "Engine") -> None:
        # Compiling may take a minute; bad settings were refused before, when the engine was built.
        compile_kernels()
        await engine.open(adopt=adopt)

    raise_garbage_thresholds()
    return _with_opened(lambda: build_engine(settings), open_engine, work)


def measure_time(work: Callable[[], T]) -> tuple[T, float]:
    """Run `work`; return its result and the seconds that it took."""
    started = time.monotonic()
    result = work()
    return result, round(time.monotonic() - started, 3)


def with_store(settings: "Settings", work: "Callable[[GraphStore], Awaitable[T]]") -> T:
    """Run `work` on the graph store alone; opening it repairs nothing."""
    require_existing_database(settings)
    from services.assembly import build_graph_store

    return _with_opened(lambda: build_graph_store(settings), lambda store: store.open(), work)


def _with_opened(
    build: Callable[[], Opened],
    opening: Callable[[Opened], Awaitable[None]],
    work: Callable[[Opened], Awaitable[T]],
) -> T:
    """Build and open an engine or store, run `work`, close it."""

    async def run() -> T:
        built = build()
        try:
            await opening(built)
            return await work(built)
        finally:
            await built.close()

    return asyncio.run(run())
