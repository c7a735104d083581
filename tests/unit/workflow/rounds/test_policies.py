"""Routing policies in the whole loop, and the preset `paper`."""

from contextlib import asynccontextmanager

import numpy as np
import pytest

from propagation.model import (
    Author,
    ClientChange,
    ClientKey,
    ClientKind,
    IncompatibleSettings,
    NewInteraction,
    get_kind,
)
from propagation.routing import SemanticPolicy, run_spherical_kmeans
from propagation.workflow.rounds.policies import ROUTING_POLICIES, PolicyPorts, build_policy
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings
from services.config.sources import load_settings, parse_assignments
from tests.unit.workflow.small_database import read_texts

STYLES = ("jazz", "opera", "folk", "punk")
MOODS = ("calm", "loud", "sad", "bright", "slow")
ITEMS, USERS = 40, 12
SMALL = WorkflowSettings(
    session=BankSettings(k=4),
    taste=BankSettings(k=6),
    table_edges=2,
    update_size=5,
    bootstrap_items=ITEMS,
    auto_create=True,
)


def build_catalogue():
    return [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
            title=f"Record {n}",
            attributes=(STYLES[n % 4], MOODS[n % 5]),
        )
        for n in range(ITEMS)
    ]


def draw_events(start, count=120):
    """Draw events of users who each prefer one style."""
    draw = np.random.default_rng(start)
    for n in range(start, start + count):
        user = int(draw.integers(USERS))
        style = user % 4 if draw.random() < 0.8 else int(draw.integers(4))
        yield NewInteraction(
            event_id=f"e{n}",
            user_id=f"u{user}",
            item_id=f"i{int(draw.integers(ITEMS // 4)) * 4 + style}",
            time=n,
            content_hash=f"e{n}",
        )


@asynccontextmanager
async def open_with_history(tmp_path, workflow):
    """Yield an engine with a catalogue and three batches of processed events."""
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", reasoning_in="loop", workflow=workflow),
    )
    await engine.open()
    try:
        await engine.upsert_clients(build_catalogue())
        await engine.drain()
        for start in (0, 1_000, 2_000):
            await engine.record(list(draw_events(start)))
            await engine.drain()
            await engine.run_round()
        yield engine
    finally:
        await engine.close()


def test_a_policy_that_no_table_has_is_refused():
    with pytest.raises(IncompatibleSettings, match="adoption"):
        build_policy(
            PolicyPorts(SMALL.model_copy(update={"policy": "placebo"}), *[None] * 5),
        )


@pytest.mark.parametrize("policy", sorted(ROUTING_POLICIES))
async def test_a_preference_reaches_others_and_never_its_lone_sender(tmp_path, policy):
    async with open_with_history(tmp_path, SMALL.model_copy(update={"policy": policy})) as engine:
        heard = 0
        for ref, text in (await read_texts(engine)).items():
            sources = [
                source
                for line in text.profile.lines
                if line.author == Author.RECEPTION
                for source in line.sources
            ]
            for source in sources:
                message = await engine.store.get_router_version(source.router, source.version)
                assert message.senders - {ref}
                heard += get_kind(ref) == ClientKind.USER
        assert heard
        assert await engine.store.get_dead_letters(1) == []


@pytest.fixture
def load_paper_settings(tmp_path):
    """Return a function that loads the preset as an operator does.

    A file adds the settings of a small town; the function's flags have precedence.
    """
    path = tmp_path / "propagation.toml"
    path.write_text(
        f"preset = 'paper'\nupdate_size = 5\nbootstrap_items = {ITEMS}\nauto_create = "
        "true\nsession.k = 4\n"
    )
    return lambda *flags: load_settings(path, {}, parse_assignments(flags)).settings.workflow


async def test_the_preset_paper_starts_from_clusters_of_attributes(tmp_path, load_paper_settings):
    """The attributes of all clients are clustered into twenty (RecNet 2.2.1).

    The taste routers take the centres, and each attribute goes to the router of its cluster first.
    """
    async with open_with_history(tmp_path, load_paper_settings()) as engine:
        names = sorted((*STYLES, *MOODS))
        attributes = await engine.embedder.embed(names)
        wanted = run_spherical_kmeans(attributes, 20, engine.settings.seed + 1)
        assert np.array_equal(engine.numbers.view.state.taste.centres, wanted)
        first = {
            part.attribute: version.router
            for version in await read_first_versions(engine)
            for part in version.integrated
        }
        assert [first[name] for name in names] == (attributes @ wanted.T).argmax(axis=1).tolist()


@pytest.mark.parametrize("flags", [(), ("tau=0.3",)], ids=["tau measured", "tau absolute"])
async def test_the_preset_paper_multicasts_above_tau(tmp_path, load_paper_settings, flags):
    """Tau is fixed with the epoch (eq. 4).

    No client with a smaller cosine is reached.
    """
    async with open_with_history(tmp_path, load_paper_settings(*flags)) as engine:
        assert isinstance(engine.rounds.policy, SemanticPolicy)
        epoch = await engine.store.get_current_epoch()
        assert (epoch.number, epoch.taste_k) == (1, 20)
        assert epoch.tau == 0.3 if flags else 0 < epoch.tau < 1
        by_client = await engine.store.get_edges(sorted(await engine.store.get_text_versions()))
        scores = [edge.score for edges in by_client.values() for edge in edges]
        assert scores
        assert min(scores) > epoch.tau


async def read_first_versions(engine):
    found = [await engine.store.get_router_version(router, 1) for router in range(20)]
    return [version for version in found if version is not None and version.round == 1]


def test_tau_of_the_preset_is_a_setting(load_paper_settings):
    assert (
        load_paper_settings().policy,
        load_paper_settings().centres,
        load_paper_settings().taste.k,
        load_paper_settings().tau,
    ) == (
        "semantic",
        "attributes",
        20,
        None,
    )
    assert load_paper_settings("tau=0.85").tau == 0.85
