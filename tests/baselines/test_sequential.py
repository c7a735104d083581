"""SASRec, GRU4Rec and Caser learn from the order of known events, and from nothing else."""

import numpy as np
import pytest

from propagation.datasets.dataset import Events, assemble, create_without_text
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods import MethodNotInstalled
from propagation.laboratory.protocols.last_events import split_last
from propagation.model import ClientKind
from services.laboratory.baselines import TORCH

USERS, ITEMS, EACH = 60, 20, 8
with_torch = pytest.mark.skipif(
    not TORCH.find_python().exists(), reason="`make baselines-torch` installs what this needs"
)
each_method = pytest.mark.parametrize("name", TORCH.methods)


def build_rounds(step=1):
    """Users who each take the items in their order, beginning at a random one.

    Args:
        step: 1: forwards; -1: backwards through the same items.

    Returns:
        [USERS, EACH] items.
    """
    starts = np.random.default_rng(5).integers(0, ITEMS, USERS)
    return (starts[:, None] + np.arange(EACH)[::step]) % ITEMS


def build_history(user, item, users=USERS, items=ITEMS):
    places = np.arange(len(user))
    return History(users, items, np.array(user), np.array(item), 1_000 * places, places)


async def score(history, name):
    """Score all items for all users, [users, items]."""
    everyone = np.arange(history.users)
    everything = np.tile(np.arange(history.items), (history.users, 1))
    questions = Questions(everyone, np.full(history.users, 10**9), everything)
    return await TORCH.build(name).score(history, questions, 1)


def count_first(scores, rounds, items):
    """Count users for whom an item is the first of those that they never had."""
    unseen = scores[:USERS, :ITEMS].copy()
    np.put_along_axis(unseen, rounds, -np.inf, axis=1)
    return int((unseen.argmax(1) == items).sum())


@each_method
async def test_none_is_installed_without_its_environment(tmp_path, monkeypatch, name):
    monkeypatch.setenv(TORCH.variable, str(tmp_path / "nowhere"))
    method = TORCH.build(name)
    with pytest.raises(MethodNotInstalled, match=rf"{name}: not installed: .*make baselines-torch"):
        _ = method.depends_on
    with pytest.raises(MethodNotInstalled, match="make baselines-torch"):
        await score(build_history([0, 0], [0, 1]), name)


@with_torch
@pytest.mark.slow
@each_method
async def test_it_learns_what_follows_and_cold_ones_have_the_lowest_score(name):
    rounds = build_rounds()
    # A user without events; and one whose only event is the only one of the last item.
    user = [*np.repeat(np.arange(USERS), EACH), USERS + 1]
    found = await score(build_history(user, [*rounds.ravel(), ITEMS], USERS + 2, ITEMS + 1), name)
    assert count_first(found, rounds, (rounds[:, -1] + 1) % ITEMS) >= 0.9 * USERS
    assert count_first(found, rounds, (rounds[:, 0] - 1) % ITEMS) <= 0.1 * USERS
    lowest = found.min()
    assert (found[USERS:] == lowest).all()
    assert (found[:, ITEMS] == lowest).all()
    assert (found[:USERS, :ITEMS] > lowest).all()


@with_torch
@pytest.mark.slow
@each_method
async def test_it_learns_from_the_order_and_not_from_who_had_what(name):
    """Backwards, the same users have the same items."""
    rounds = build_rounds(step=-1)
    found = await score(build_history(np.repeat(np.arange(USERS), EACH), rounds.ravel()), name)
    assert count_first(found, rounds, (rounds[:, -1] - 1) % ITEMS) >= 0.9 * USERS
    assert count_first(found, rounds, (rounds[:, 0] + 1) % ITEMS) <= 0.1 * USERS


@with_torch
@pytest.mark.slow
@each_method
async def test_it_never_sees_the_target_and_repeats_itself(name):
    """Other targets change no score."""
    targets = np.random.default_rng(3).integers(0, ITEMS, (2, USERS))
    found = []
    for target in targets:
        history, split = split_last(build_dataset(np.column_stack([build_rounds(), target])))
        assert np.array_equal(split.item, target)
        found.append(await score(history, name))
    assert np.array_equal(*found)


def build_dataset(sequences):
    """Users take items one after the other."""
    events = Events("rounds")
    for place, items in enumerate(sequences.T.tolist()):
        for user, item in enumerate(items):
            events.append(f"u{user:02}", f"i{item:02}", 1_000 * (place * USERS + user))
    items = {f"i{n:02}": create_without_text(ClientKind.ITEM, f"i{n:02}") for n in range(ITEMS)}
    return assemble("rounds", items, {}, events, 5)
