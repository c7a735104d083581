"""An engine and a stream of planted communities, for tests of evolution."""

import numpy as np

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientChange, ClientKey, ClientKind, NewInteraction
from propagation.workflow.compose import compose
from propagation.workflow.learn.learned_blocks import TASTE, read_aligned_blocks
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock

STYLES = ("jazz", "opera", "punk", "folk")


def make_engine(path, reasoner=None, **given):
    settings = WorkflowSettings(
        **{
            "session": BankSettings(k=4),
            "taste": BankSettings(k=2),
            "table_edges": 2,
            "update_size": 20,
            "auto_create": True,
            "bootstrap_items": 1_000,
            "holdout": 60,
            "evolve_support": 10,
            **given,
        }
    )
    store = SqliteStore(path, SystemClock())
    return compose(
        store,
        HashedEmbedder(settings.seed),
        NumpyIndex(SqlitePoints(store.database)),
        reasoner or OfflineReasoner(),
        settings,
        "test",
    )


def build_catalogue(styles, each=12):
    """Make `each` items of every style; title and category name the style."""
    return [
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"{style}{n}"),
            title=f"{style} record",
            categories=(style,),
        )
        for style in styles
        for n in range(each)
    ]


def draw_events(styles, events, seed=1, each=12, users=10, loyal=0.9):
    """Draw events of users who each prefer one style.

    Args:
        each: Number of items of a style.
        users: Number of users of a style.
        loyal: Chance that a user chooses the preferred style; otherwise any style is drawn.
    """
    draw = np.random.default_rng(seed)
    for n in range(events):
        mine = styles[n % len(styles)]
        style = mine if draw.random() < loyal else styles[draw.integers(len(styles))]
        yield NewInteraction(
            event_id=f"{seed}-{n}",
            user_id=f"{mine}-{draw.integers(users)}",
            item_id=f"{style}{draw.integers(each)}",
            time=n,
            content_hash=f"{seed}-{n}",
        )


async def push(engine, events, step=40):
    """Record, learn, reason and run due rounds, `step` events at a time."""
    waiting = list(events)
    for start in range(0, len(waiting), step):
        await engine.record(waiting[start : start + step])
        await engine.drain()


async def open_with_history(engine, styles, events=400, **shape):
    """Open an engine, bootstrap it on a catalogue, and push events.

    Args:
        events: Number of events.
        shape: Arguments of `draw_events`.
    """
    await engine.open()
    await engine.upsert_clients(build_catalogue(styles))
    await engine.drain()
    await engine.init()
    await push(engine, draw_events(styles, events, **shape))


async def compute_written_mass(engine):
    """Return the mass that interactions wrote to each present taste router [K]."""
    store, routers = engine.store, len(engine.numbers.view.state.taste.total)
    maps, out = await store.get_router_maps(), np.zeros(routers)
    async for part in read_aligned_blocks(store, 0, await store.get_learned_through()):
        routers_now = maps.after(part.block.through).map_routers(
            part.block.routers[part.rows, TASTE], part.users
        )
        out += np.bincount(
            routers_now.ravel(), part.block.weights[part.rows, TASTE].ravel(), routers
        )
    return out
