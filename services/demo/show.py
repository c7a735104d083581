"""The demo from start to end."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from propagation.model.wording import counted
from propagation.v1 import propagation_pb2 as pb
from services.client import connected
from services.demo.catalogue import search
from services.demo.evolving import evolved, show_evolution
from services.demo.loading import load_clients, load_events
from services.demo.picture import Traced, draw
from services.demo.plan import Plan, plan_for, short_plan
from services.demo.process import OUT, demo_service, no_model, scripted_model
from services.demo.ranking import ranked, show_ranking
from services.demo.reach import Reach, gather_reach
from services.demo.story import Story, advice_for, find_story, profiles_of
from services.demo.words import heading, new_console, say, show_advice, show_data, show_path, show_profiles, show_reach
from services.report.gather import gather
from services.report.page import page

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

PICTURE, PAGE = OUT / "reach.png", OUT / "report.html"
SCRIPTED_EVENTS = 1_500


async def demo(folder: Path | None, seed: int, *, scripted: bool = False) -> None:
    """Everything, printed; nothing is left behind but the picture and the page. `scripted`: a scripted language model reasons,
    over fewer events. Raises BrokenData, Unreachable, Refused."""
    started, console = time.monotonic(), new_console()
    heading(console, "The data")
    plan = plan_for(folder, seed)
    plan = short_plan(plan, SCRIPTED_EVENTS) if scripted else plan
    show_data(console, plan)
    reasoner = scripted_model() if scripted else no_model()
    async with reasoner as model, demo_service([*plan.settings, *model]) as address, connected(address) as stub:
        say(console, f"A service of its own answers at {address}, on a temporary database.")
        if scripted:
            say(console, "A scripted language model reasons, behind the OpenAI wire format: see `propagation fake-llm --help`.")
        report = await load_clients(stub, plan)
        if len(plan.dataset):
            await _with_events(stub, console, plan, folder, seed)
        else:
            await search(stub, console, plan.dataset, report.sequence)
    say(console, f"\nDone in {time.monotonic() - started:.0f} s; the service is stopped and its database removed.")


async def _with_events(stub: "PropagationServiceAsyncStub", console: Console, plan: Plan, folder: Path | None, seed: int) -> None:
    async with ranked(folder, seed) as ranking:
        await load_events(stub, plan, 0, plan.before)
        before = await profiles_of(stub, plan.watched)
        await load_events(stub, plan, plan.before, plan.after)
        story = await find_story(stub, plan, before)
        await _tell(stub, console, plan, story)
        if plan.after < len(plan.dataset):
            await load_events(stub, plan, plan.after, len(plan.dataset))
        reach = await _picture(stub, console, plan, story, seed)
        heading(console, "An evolution of the routers")
        show_evolution(console, await evolved(stub), reach.names)
        heading(console, "Ranking quality")
        show_ranking(console, await ranking())
        PAGE.write_text(page(await gather(stub)), encoding="utf-8")
        say(console, f"\nAll of it on one page, with the routers' lineage: {PAGE.resolve()}")


async def _tell(stub: "PropagationServiceAsyncStub", console: Console, plan: Plan, story: Story | None) -> None:
    heading(console, "A profile, before and after")
    if story is None:
        say(console, f"No message has written into the profiles of {counted(len(plan.watched), 'user')} watched: "
                     "too few events for it.")
    else:
        show_profiles(console, story)
        heading(console, "One path, traced")
        show_path(console, story)
    user = story.user if story else plan.watched[0]
    advice = await advice_for(stub, plan, user, story.line if story else None)
    if advice:
        heading(console, f"Recommended to {user}")
        show_advice(console, user, advice)


async def _picture(stub: "PropagationServiceAsyncStub", console: Console, plan: Plan, story: Story | None, seed: int) -> Reach:
    heading(console, "Routers, and who reached whom")
    reach = await gather_reach(stub, plan)
    show_reach(console, reach)
    if reach.tables:
        file = draw(reach, plan.dataset.name, _traced(story), PICTURE, seed)
        say(console, f"The picture: {file.resolve()}")
    return reach


def _traced(story: Story | None) -> Traced | None:
    messages = [source.message for source in story.line.sources if source.HasField("message")] if story else []
    if story is None or not messages:
        return None
    senders = [key.id for key in messages[0].senders.clients.keys if key.kind == pb.CLIENT_KIND_USER]
    return Traced(senders, messages[0].router, story.user)
