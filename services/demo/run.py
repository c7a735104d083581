"""The demo from start to end."""

import asyncio
import atexit
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, redirect_stderr
from importlib.util import find_spec
from pathlib import Path

from propagation.datasets.dataset import Dataset, Event
from propagation.forced_exit import create_temporary_folder
from propagation.model import ClientChange, pluralize
from propagation.v1 import propagation_pb2 as pb
from services.client.errors import Refused, Unreachable
from services.client.stub import Stub, connect
from services.client.upload import UploadReport, upload
from services.config.sources import load_settings, parse_assignments
from services.demo.data import (
    DemoScript,
    Reach,
    build_folder_script,
    build_town_script,
    collect_reach,
    read_profiles,
    shorten_script,
)
from services.demo.picture import draw
from services.demo.printing import (
    number_titles,
    print_heading,
    show_advice,
    show_data,
    show_evolution,
    show_path,
    show_profiles,
    show_reach,
)
from services.demo.story import (
    Story,
    fetch_advice,
    find_largest_rise,
    find_placements,
    find_stories,
)
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.report.collect import collect_report
from services.report.page import render_page
from services.report.worth import describe_worth
from services.runtime.console import print_text, show_progress
from services.runtime.interruption import interruption
from services.runtime.logs import configure_logging
from services.server import Running, handle_signals, run_service

OUT = Path("demo-out")
PICTURE, REPORT, LOG = OUT / "reach.png", OUT / "report.html", OUT / "service.log"
SCRIPTED_EVENTS, SCRIPTED_SECONDS = 1_500, 0.02
GRACE_SECONDS = 0.5
PAGE_PACKAGES = "preference-propagation[web]"
GAUGE = (
    "The service measures this while it runs: before anything is learned from an interaction, its"
    " item is ranked among itself and up to four others, with propagation and without (neighbours,"
    " history and taste stay). `propagation evaluate` compares with baselines and with a placebo."
)


async def demo(
    folder: Path | None, seed: int, *, scripted: bool = False, once: bool = False
) -> None:
    """Run and print the demo.

    The demo leaves the picture, the report and the service's log. At the end the service serves its
    web page until SIGTERM or Ctrl-C.

    Args:
        scripted: Let a scripted language model reason, over fewer events.
        once: End by itself, without the web page.

    Raises:
        BrokenData: The folder cannot be read.
        Refused, Unreachable: The demo's service refused a call, or did not answer it.
    """
    started = time.monotonic()
    print_heading("The data")
    script = build_town_script(seed) if folder is None else build_folder_script(folder, seed)
    if scripted:
        script = shorten_script(script, SCRIPTED_EVENTS)
    show_data(script)
    served = not once and has_page()
    async with run_demo_service(script, scripted=scripted, page=served) as service:
        async with connect(service.address) as stub:
            print_text(
                f"The demo runs its own service at {service.address}, on a temporary database."
            )
            if scripted:
                print_text(
                    "A scripted language model reasons, behind the OpenAI wire format: see "
                    "`propagation fake-llm --help`."
                )
            clients = script.dataset.clients
            loaded = await _upload(stub, "users and items", clients, (), len(clients))
            if len(script.dataset):
                await _with_events(stub, script, seed)
            else:
                await search(stub, script.dataset, loaded.sequence)
        print_text("", f"Done in {time.monotonic() - started:.0f} s.")
        if service.page is not None:
            await _serve_until_signal(service.page)
    if not (once or served):
        print_text(
            f"To see this on a web page, run pip install '{PAGE_PACKAGES}' and the demo again."
        )
    print_text("The service is stopped and its database removed.")


def has_page() -> bool:
    """Tell whether the packages of the web page are installed."""
    return all(find_spec(name) for name in ("jinja2", "starlette", "uvicorn"))


async def _serve_until_signal(page: str) -> None:
    """Show the address of the page until SIGTERM or SIGINT."""
    stopping = asyncio.Event()
    with handle_signals(stopping, asyncio.Event()):
        interruption.exit_code = 0  # Ctrl-C is the way to end it
        print_text(f"Open {page} in a browser: it shows all of this. Ctrl-C ends the demo.")
        sys.stdout.flush()
        await stopping.wait()


@asynccontextmanager
async def run_demo_service(
    script: DemoScript, *, scripted: bool, page: bool = False
) -> AsyncIterator[Running]:
    """Run a service on a free loopback port and a temporary database.

    The service's log goes into a file.

    Args:
        page: Serve the web page, too, on another free port.

    Raises:
        Refused, Unreachable: A call inside the block failed; the message names the log.
    """
    with create_temporary_folder("propagation-demo-") as folder:
        async with fake_llm(Script(latency=SCRIPTED_SECONDS)) as model:
            assignments = [f"database={folder / 'demo.db'}", "server.port=0", *script.settings]
            if page:
                assignments += ["web.port=0", f"server.grace_seconds={GRACE_SECONDS}"]
            if scripted:
                assignments += [
                    "reasoner=openai",
                    "openai.model=scripted",
                    f"openai.base_url={model.base_url}",
                    "openai.in_flight=20",
                ]
            # No settings of the operator, which may name a server's graph, a taken port or a paid
            # model.
            loaded = load_settings(Path(os.devnull), {}, parse_assignments(assignments))
            _log_to_file()
            try:
                async with run_service(loaded.settings, loaded=loaded) as service:
                    yield service
            except (Refused, Unreachable) as error:
                raise type(error)(f"{error}; the service's log: {LOG.resolve()}") from error


def _log_to_file() -> None:
    """Send the log to a file until the process ends."""
    OUT.mkdir(exist_ok=True)
    log = LOG.open("w", encoding="utf-8")
    atexit.register(log.close)
    with redirect_stderr(log):
        configure_logging("console")


async def _with_events(
    stub: Stub,
    script: DemoScript,
    seed: int,
) -> None:
    await load_events(stub, script, 0, script.before)
    before = await read_profiles(stub, script.watched)
    await load_events(stub, script, script.before, script.after)
    story = await _tell(stub, script, before)
    if script.after < len(script.dataset):
        await load_events(stub, script, script.after, len(script.dataset))
    reach = await _draw_picture(stub, script, story, seed)
    print_heading("An evolution of the routers")
    evolution = await stub.EvolveRouters(pb.EvolveRoutersRequest())
    show_evolution(evolution.run, reach.names)
    print_heading("Ranking quality")
    worth = describe_worth(await stub.GetStatus(pb.GetStatusRequest()))
    print_text(worth.sentence, GAUGE)
    REPORT.write_text(render_page(await collect_report(stub)), encoding="utf-8")
    print_text("", f"All of it on one page, with the routers' lineage: {REPORT.resolve()}")


async def _tell(
    stub: Stub,
    script: DemoScript,
    before: dict[str, pb.Profile],
) -> Story | None:
    print_heading("A profile, before and after")
    if not script.watched:
        print_text(
            f"There is too little to show: with {pluralize(len(script.dataset), 'event')} nobody"
            " has a profile to compare with a later one. It takes at least two, and some hundreds"
            " to show much.",
        )
        return None
    stories = await find_stories(stub, script, before)
    placements = [one for story in stories for one in await find_placements(stub, script, story)]
    shown = find_largest_rise(placements)
    story = shown.story if shown else next(iter(stories), None)
    if story is None:
        print_text(
            f"No message has changed any of {pluralize(len(script.watched), 'watched profile')}: "
            "there are too few events."
        )
    else:
        show_profiles(story)
        print_heading("One path, traced")
        show_path(script, story)
    user = story.user if story else script.watched[0]
    advice = await fetch_advice(stub, user, shown.item if shown else None)
    if advice:
        print_heading(f"Recommended to {user}")
        show_advice(advice, placements, shown)
    return story


async def _draw_picture(
    stub: Stub,
    script: DemoScript,
    story: Story | None,
    seed: int,
) -> Reach:
    print_heading("Routers, and who reached whom")
    reach = await collect_reach(stub, script)
    show_reach(reach)
    if reach.tables:
        draw(reach, script.dataset.name, story, PICTURE, seed)
        print_text(f"The picture: {PICTURE.resolve()}")
    return reach


async def load_events(stub: Stub, script: DemoScript, start: int, end: int) -> None:
    """Upload a range of the script's events, and run a round.

    Args:
        start: First event, in the order of time.
        end: The event after the last.

    Raises:
        Refused: An event was rejected.
    """
    events = script.dataset.between(start, end)
    report = await _upload(stub, "events", (), events, end - start)
    if report.outcomes["rejected"]:
        raise Refused(report.examples[0])
    with show_progress("learn, reason, rounds"):
        await stub.RunRound(pb.RunRoundRequest(drain=True))


async def _upload(
    stub: Stub,
    name: str,
    clients: Iterable[ClientChange],
    events: Iterable[Event],
    total: int,
) -> UploadReport:
    """Upload under a progress bar of this name."""
    with show_progress(name) as progress:
        return await upload(stub, clients, events, lambda done: progress(done, total))


SEARCHES, SHOWN = 3, 5


async def search(stub: Stub, dataset: Dataset, sequence: int) -> None:
    """Show neighbours of some items, and a new user's list."""
    print_heading("Searched")
    titled = [item for item in dataset.items if item.title]
    for item in titled[:: max(1, len(titled) // SEARCHES)][:SEARCHES]:
        answer = await stub.SimilarClients(
            pb.SimilarClientsRequest(
                key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=item.key.id),
                by=pb.SIMILARITY_PROFILE,
                limit=SHOWN,
                min_sequence=sequence,
            )
        )
        listed = f" ({', '.join(item.categories)})" if item.categories else ""
        titles = [near.title or near.key.id for near in answer.neighbours]
        print_text(f"Most like “{item.title}”{listed}:", *number_titles(titles))
    advice = await stub.Recommend(
        pb.RecommendRequest(user_id="somebody new", limit=SHOWN, min_sequence=sequence)
    )
    print_text(
        "For a user never seen:",
        *number_titles([one.title or one.item_id for one in advice.recommendations]),
    )
    print_heading("Ranking")
    print_text(
        f"{dataset.name} is only a catalogue: it has no events, so there is nothing to rank"
        " and nothing to propagate."
    )
