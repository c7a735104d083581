"""The demo from start to end."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from propagation.model.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.client.stub import connect
from services.demo.data.example_choice import advice_for, find_showcase
from services.demo.data.load import load_clients, load_events
from services.demo.data.reach import Reach, gather_reach
from services.demo.data.script import Plan, plan_for, short_plan
from services.demo.data.story import Story, find_stories, profiles_of
from services.demo.processes import OUT, demo_service, no_model, scripted_model
from services.demo.shown.catalogue_only import search
from services.demo.shown.evolve import evolved, show_evolution
from services.demo.shown.picture import Traced, draw
from services.demo.shown.printing import (
    heading,
    new_console,
    say,
    show_data,
    show_path,
    show_profiles,
    show_reach,
)
from services.demo.shown.ranking import Ranking, ranked, show_ranking
from services.demo.shown.recommendation_text import show_advice
from services.report.collect import collect_report
from services.report.page import render_page

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

PICTURE, PAGE = OUT / "reach.png", OUT / "report.html"
SCRIPTED_EVENTS = 1_500


async def demo(folder: Path | None, seed: int, *, scripted: bool = False) -> None:
    """Everything, printed; nothing is left behind but the picture and the page. `scripted`: a
    scripted language model reasons, over fewer events. Raises BrokenData, ChildFailed, Unreachable,
    Refused."""
    started, console = time.monotonic(), new_console()
    heading(console, "The data")
    plan = plan_for(folder, seed)
    plan = short_plan(plan, SCRIPTED_EVENTS) if scripted else plan
    show_data(console, plan)
    reasoner = scripted_model() if scripted else no_model()
    ranking = ranked(folder, seed) if len(plan.dataset) else nullcontext()
    async with (
        reasoner as model,
        demo_service([*plan.settings, *model]) as address,
        ranking as report,
        connect(address) as stub,
    ):
        say(console, f"A service of its own answers at {address}, on a temporary database.")
        if scripted:
            say(
                console,
                "A scripted language model reasons, behind the OpenAI wire format: see `propagation fake-llm --help`.",
            )
        loaded = await load_clients(stub, plan)
        if report is None:
            await search(stub, console, plan.dataset, loaded.sequence)
        else:
            await _with_events(stub, console, plan, report, seed)
    say(
        console,
        f"\nDone in {time.monotonic() - started:.0f} s; the service is stopped and its database removed.",
    )


async def _with_events(
    stub: "PropagationServiceAsyncStub", console: Console, plan: Plan, ranking: Ranking, seed: int
) -> None:
    await load_events(stub, plan, 0, plan.before)
    before = await profiles_of(stub, plan.watched)
    await load_events(stub, plan, plan.before, plan.after)
    story = await _tell(stub, console, plan, before)
    if plan.after < len(plan.dataset):
        await load_events(stub, plan, plan.after, len(plan.dataset))
    reach = await _picture(stub, console, plan, story, seed)
    heading(console, "An evolution of the routers")
    show_evolution(console, await evolved(stub), reach.names)
    heading(console, "Ranking quality")
    show_ranking(console, await ranking())
    OUT.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render_page(await collect_report(stub)), encoding="utf-8")
    say(console, f"\nAll of it on one page, with the routers' lineage: {PAGE.resolve()}")


async def _tell(
    stub: "PropagationServiceAsyncStub", console: Console, plan: Plan, before: dict[str, pb.Profile]
) -> Story | None:
    heading(console, "A profile, before and after")
    if not plan.watched:
        say(
            console,
            f"There is too little to show: with {pluralize(len(plan.dataset), 'event')} nobody has a profile to compare "
            "with a later one. It takes two at least, and some hundreds to see something.",
        )
        return None
    stories = await find_stories(stub, plan, before)
    showcase = await find_showcase(stub, plan, stories)
    story = showcase.shown.story if showcase else stories[0] if stories else None
    if story is None:
        say(
            console,
            f"No message has written into {pluralize(len(plan.watched), 'watched profile')}: too few events for it.",
        )
    else:
        show_profiles(console, story)
        heading(console, "One path, traced")
        show_path(console, plan, story)
    user = story.user if story else plan.watched[0]
    advice = await advice_for(stub, user, showcase.shown.item if showcase else None)
    if advice:
        heading(console, f"Recommended to {user}")
        show_advice(console, advice, showcase)
    return story


async def _picture(
    stub: "PropagationServiceAsyncStub",
    console: Console,
    plan: Plan,
    story: Story | None,
    seed: int,
) -> Reach:
    heading(console, "Routers, and who reached whom")
    reach = await gather_reach(stub, plan)
    show_reach(console, reach)
    if reach.tables:
        file = draw(reach, plan.dataset.name, _traced(story), PICTURE, seed)
        say(console, f"The picture: {file.resolve()}")
    return reach


def _traced(story: Story | None) -> Traced | None:
    """The path that was told in words, over its own router."""
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
    return Traced(senders, messages[0].router, story.user)
