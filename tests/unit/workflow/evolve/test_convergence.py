"""The number of routers converges to the number of planted communities.

Source: RecNet 3.4.2, figure 5.
"""

import numpy as np
import pytest

from propagation.model import NewInteraction
from propagation.workflow.settings import BankSettings
from tests.unit.workflow.evolve.planted_communities import build_catalogue, make_engine, push

pytestmark = pytest.mark.slow

NOISE, EACH = 0.15, 20
NAMES = ("jazz", "opera", "punk", "folk", "blues", "swing", "metal", "house", "choir", "salsa")
STYLES = tuple(f"{name} {part}" for part in ("old", "new") for name in NAMES)


def draw_mixed_events(styles, events, seed, users=120):
    """Draw events of users with two or three styles, and rarely another."""
    draw = np.random.default_rng(seed)
    tastes = [draw.permutation(len(styles))[: 2 + user % 2] for user in range(users)]
    for n in range(events):
        user = draw.integers(users)
        style = draw.integers(len(styles)) if draw.random() < NOISE else draw.choice(tastes[user])
        yield NewInteraction(
            event_id=f"{n}",
            user_id=f"user {user}",
            item_id=f"{styles[style]}{draw.integers(EACH)}",
            time=n,
            content_hash=f"{n}",
        )


async def count_routers_by_night(path, planted, start, nights, events, seed=1, users=120):
    engine = make_engine(path, taste=BankSettings(k=start), holdout=events)
    await engine.open()
    await engine.upsert_clients(build_catalogue(STYLES[:planted], EACH))
    await engine.drain()
    await engine.init()
    stream = list(draw_mixed_events(STYLES[:planted], nights * events, seed, users))
    counts = []
    for night in range(nights):
        await push(engine, stream[night * events : (night + 1) * events], step=100)
        await engine.evolve()
        counts.append(len(engine.routers_in_use))
    await engine.close()
    return counts


@pytest.mark.parametrize("start", [3, 12])
async def test_few_and_many_routers_become_as_many_as_the_communities(tmp_path, start):
    counts = await count_routers_by_night(
        tmp_path / "town.db", 4, start, nights=3, events=300, users=60
    )
    assert 2 <= counts[-1] <= 6, counts


@pytest.mark.parametrize(("planted", "seed", "start"), [(6, 2, 80), (12, 3, 80), (20, 4, 8)])
async def test_the_number_of_routers_settles_near_that_of_the_communities(
    tmp_path, planted, seed, start
):
    counts = await count_routers_by_night(tmp_path / "town.db", planted, start, 20, 400, seed)
    assert all(planted / 2 <= count <= planted * 1.5 for count in counts[-4:]), counts
