"""The demo from start to end."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console

from propagation.datasets.dataset import Dataset
from propagation.model import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.client.errors import Refused
from services.client.stub import Stub, connect
from services.client.upload import UploadReport, upload
from services.demo.data import (
    DemoScript,
    Reach,
    collect_reach,
    make_script,
    profiles_of,
    shorten_script,
)
from services.demo.picture import TracedPath, draw
from services.demo.printing import (
    heading,
    new_console,
    say,
    show_advice,
    show_data,
    show_evolution,
    show_path,
    show_profiles,
    show_reach,
)
from services.demo.processes import OUT, demo_service, scripted_model
from services.demo.ranking import Ranking, show_ranking, start_ranking
from services.demo.story import Story, advice_for, find_showcase, find_stories
from services.report.collect import collect_report
from services.report.page import render_page
from services.runtime.console import progress_bar

PICTURE, PAGE = OUT / "reach.png", OUT / "report.html"
SCRIPTED_EVENTS = 1_500


async def demo(folder: Path | None, seed: int, *, scripted: bool = False) -> None:
    """Run and print the demo.

    It leaves only the picture and the page.

    Args:
        scripted: Let a scripted language model reason, over fewer events.

    Raises:
        BrokenData: The folder cannot be read.
        ChildFailed: A process of the demo failed.
        Unreachable: The demo's service does not answer.
        Refused: It refused a call.
    """
    started, console = time.monotonic(), new_console()
    heading(console, "The data")
    script = make_script(folder, seed)
    script = shorten_script(script, SCRIPTED_EVENTS) if scripted else script
    show_data(console, script)
    reasoner = (
        scripted_model() if scripted else nullcontext(())
    )  # no settings: the offline reasoner
    ranking = start_ranking(folder, seed) if len(script.dataset) else nullcontext()
    async with (
        reasoner as model,
        demo_service([*script.settings, *model]) as address,
        ranking as report,
        connect(address) as stub,
    ):
        say(console, f"A service of its own answers at {address}, on a temporary database.")
        if scripted:
            say(
                console,
                (
                    "A scripted language model reasons, behind the OpenAI wire format: see "
                    "`propagation fake-llm --help`."
                ),
            )
        loaded = await load_clients(stub, script)
        if report is None:
            await search(stub, console, script.dataset, loaded.sequence)
        else:
            await _with_events(stub, console, script, report, seed)
    console.print()
    say(
        console,
        (
            f"Done in {time.monotonic() - started:.0f} s; the service is stopped and its "
            "database "
            "removed."
        ),
    )


async def _with_events(
    stub: Stub,
    console: Console,
    script: DemoScript,
    ranking: Ranking,
    seed: int,
) -> None:
    await load_events(stub, script, 0, script.before)
    before = await profiles_of(stub, script.watched)
    await load_events(stub, script, script.before, script.after)
    story = await _tell(stub, console, script, before)
    if script.after < len(script.dataset):
        await load_events(stub, script, script.after, len(script.dataset))
    reach = await _picture(stub, console, script, story, seed)
    heading(console, "An evolution of the routers")
    evolution = await stub.EvolveRouters(pb.EvolveRoutersRequest())
    show_evolution(console, evolution.run, reach.names)
    heading(console, "Ranking quality")
    show_ranking(console, await ranking())
    OUT.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render_page(await collect_report(stub)), encoding="utf-8")
    console.print()
    say(console, f"All of it on one page, with the routers' lineage: {PAGE.resolve()}")


async def _tell(
    stub: Stub,
    console: Console,
    script: DemoScript,
    before: dict[str, pb.Profile],
) -> Story | None:
    heading(console, "A profile, before and after")
    if not script.watched:
        say(
            console,
            f"There is too little to show: with {pluralize(len(script.dataset), 'event')} nobody"
            " has a profile to compare with a later one. It takes two at least, and some hundreds"
            " to see something.",
        )
        return None
    stories = await find_stories(stub, script, before)
    showcase = await find_showcase(stub, script, stories)
    story = showcase.shown.story if showcase else stories[0] if stories else None
    if story is None:
        say(
            console,
            (
                f"No message has written into {pluralize(len(script.watched), 'watched profile')}: "
                "too few events for it."
            ),
        )
    else:
        show_profiles(console, story)
        heading(console, "One path, traced")
        show_path(console, script, story)
    user = story.user if story else script.watched[0]
    advice = await advice_for(stub, user, showcase.shown.item if showcase else None)
    if advice:
        heading(console, f"Recommended to {user}")
        show_advice(console, advice, showcase)
    return story


async def _picture(
    stub: Stub,
    console: Console,
    script: DemoScript,
    story: Story | None,
    seed: int,
) -> Reach:
    heading(console, "Routers, and who reached whom")
    reach = await collect_reach(stub, script)
    show_reach(console, reach)
    if reach.tables:
        file = draw(reach, script.dataset.name, _trace(story), PICTURE, seed)
        say(console, f"The picture: {file.resolve()}")
    return reach


def _trace(story: Story | None) -> TracedPath | None:
    """Return the path that the story told, over its own router."""
    routers = (
        [hop.attribute.router for hop in story.path.hops if hop.HasField("attribute")]
        if story and story.path
        else []
    )
    messages = (
        [source.message for source in story.line.sources if source.HasField("message")]
        if story
        else []
    )
    messages.sort(key=lambda message: message.router not in routers)
    if story is None or not messages:
        return None
    senders = [
        key.id for key in messages[0].senders.clients.keys if key.kind == pb.CLIENT_KIND_USER
    ]
    return TracedPath(senders, messages[0].router, story.user)


async def load_clients(stub: Stub, script: DemoScript) -> UploadReport:
    """Upload all clients, before any event."""
    dataset = script.dataset
    with progress_bar() as bar:
        task = bar.add_task("users and items", total=len(dataset.items) + len(dataset.users))
        return await upload(stub, dataset.clients, (), lambda more: bar.advance(task, more))


async def load_events(stub: Stub, script: DemoScript, start: int, end: int) -> None:
    """Upload a range of the script's events, and run a round.

    Args:
        start: First event, in the order of time.
        end: The event after the last.

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


SEARCHES, SHOWN = 3, 5
NEWCOMER = "somebody new"


async def search(stub: Stub, console: Console, dataset: Dataset, sequence: int) -> None:
    """Show neighbours of some items, and a new user's list."""
    heading(console, "Searched")
    titled = [item for item in dataset.items if item.title]
    for item in titled[:: max(1, len(titled) // SEARCHES)][:SEARCHES]:
        key = pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=item.key.id)
        answer = await stub.SimilarClients(
            pb.SimilarClientsRequest(
                key=key, by=pb.SIMILARITY_PROFILE, limit=SHOWN, min_sequence=sequence
            )
        )
        listed = f" ({', '.join(item.categories)})" if item.categories else ""
        show_found(
            console,
            f"Most like “{item.title}”{listed}:",
            [near.title or near.key.id for near in answer.neighbours],
        )
    advice = await stub.Recommend(
        pb.RecommendRequest(user_id=NEWCOMER, limit=SHOWN, min_sequence=sequence)
    )
    show_found(
        console,
        "For a user never seen:",
        [one.title or one.item_id for one in advice.recommendations],
    )
    heading(console, "Ranking")
    say(
        console,
        (
            f"{dataset.name} is a catalogue alone: it has no events, so there is nothing to rank"
            " and nothing to propagate."
        ),
    )


def show_found(console: Console, what: str, titles: Sequence[str]) -> None:
    """Print search results."""
    say(console, what)
    for place, title in enumerate(titles, 1):
        say(console, f"  {place}. {title}")
