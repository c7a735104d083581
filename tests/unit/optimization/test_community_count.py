"""How many communities choices give evidence of, where users have two or three tastes."""

import numpy as np
import pytest

from propagation.optimization.community_count import count_communities


def draw_choices(planted, count, seed, users=150, items=20, noise=0.15):
    draw = np.random.default_rng(seed)
    tastes = [draw.permutation(planted)[: 2 + user % 2] for user in range(users)]
    user = draw.integers(users, size=count)
    community = np.array([draw.choice(tastes[one]) for one in user])
    item = community * items + draw.integers(items, size=count)
    return user, np.where(
        draw.random(count) < noise, draw.integers(planted * items, size=count), item
    )


@pytest.mark.parametrize("planted", [6, 12, 20])
@pytest.mark.parametrize("seed", [3, 4])
def test_planted_communities_are_counted_however_users_mix_them(planted, seed):
    users, items = draw_choices(planted, 6_000, seed)
    found = count_communities(users, items, 96, 7)
    assert found == (planted, planted)
    assert count_communities(users, items, 96, 7) == found, "the same every time"


@pytest.mark.parametrize("count", [0, 1, 5, 300])
def test_few_choices_do_not_say_that_there_are_few_communities(count):
    users, items = draw_choices(12, count, 3)
    evident, possible = count_communities(users, items, 96, 7)
    assert 1 <= evident <= 12 <= possible


def test_choices_at_random_hold_no_communities():
    draw = np.random.default_rng(5)
    found = count_communities(draw.integers(150, size=6_000), draw.integers(200, size=6_000), 96, 7)
    assert found == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 40, 60])
@pytest.mark.parametrize("seed", [1, 2])
def test_weak_communities_beside_much_that_is_popular_are_counted(size, seed):
    draw = np.random.default_rng(seed * 1_000 + size)
    users = draw.integers(size, size=100_000)
    items = np.where(draw.random(100_000) < 0.1, users, draw.integers(size, size=100_000))
    found = count_communities(users, items, 96, 7)
    assert found == (size - 1, size - 1), "each user has an item of their own"
