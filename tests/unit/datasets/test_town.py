"""The generated town: equal seeds give equal towns, and the planted structure is in the data."""

import hashlib
from collections import Counter

import pytest

from propagation.datasets.dataset import Dataset
from propagation.datasets.generated_town import (
    OWN_ITEMS_A_STYLE,
    STYLES_A_COMMUNITY,
    generate_town,
)
from propagation.datasets.town_words import QUARTERS


def compute_digest(data: Dataset) -> str:
    told = hashlib.blake2b()
    for part in (*data.clients, *data.events):
        told.update(repr(part).encode())
    return told.hexdigest()


@pytest.fixture(scope="module")
def town():
    return generate_town(7)


@pytest.mark.slow
def test_the_same_seed_is_the_same_town(town):
    again = generate_town(7)
    assert compute_digest(again.dataset) == compute_digest(town.dataset)
    assert again.waves == town.waves
    assert compute_digest(generate_town(8).dataset) != compute_digest(town.dataset)


def test_a_town_of_another_size(town):
    small = generate_town(7, users=80, events=900)
    assert len(small.dataset.users) == len(small.communities) == 80
    assert len(small.dataset) == 900
    assert len(small.dataset.items) == len(town.dataset.items)
    assert all(wave.end <= 900 for wave in small.waves)
    assert {event.item_id for event in small.dataset.events} & set(small.waves[-1].items)


def test_it_says_that_it_is_generated(town):
    assert town.dataset.generated
    assert town.dataset.name == "generated town, seed 7"
    assert "generated" in town.dataset.notes[0]


def test_clients_have_texts_and_everybody_lives_somewhere(town):
    assert len({item.title for item in town.dataset.items}) == len(town.dataset.items)
    assert all(
        item.title and item.description and item.attributes and item.categories
        for item in town.dataset.items
    )
    assert set(town.communities) == {user.key.id for user in town.dataset.users}
    assert len(set(town.communities.values())) == 8


def test_waves_start_with_pioneers_and_stay_in_their_community(town):
    events = list(town.dataset.events)
    for wave in town.waves:
        when = [
            (place, event.user_id)
            for place, event in enumerate(events)
            if event.item_id in wave.items
        ]
        assert {town.communities[user] for _, user in when} == {wave.community}
        early = {user for place, user in when if place < wave.spread}
        late = {user for _, user in when}
        assert when[0][0] >= wave.start
        assert early
        assert early <= set(wave.pioneers)
        assert len(late) > 4 * len(early)


def test_nobody_has_an_item_twice(town):
    pairs = [(event.user_id, event.item_id) for event in town.dataset.events]
    assert len(set(pairs)) == len(pairs)


def test_a_community_keeps_to_its_own_places(town):
    visits = Counter(
        (town.communities[event.user_id], event.item_id) for event in town.dataset.events
    )
    for community in QUARTERS:
        places = Counter({item: n for (home, item), n in visits.items() if home == community})
        own = {item for item, _ in places.most_common(STYLES_A_COMMUNITY * OWN_ITEMS_A_STYLE)}
        others = [(item, n) for (home, item), n in visits.items() if home != community]
        assert sum(places[item] for item in own) > 0.4 * places.total()
        assert sum(n for item, n in others if item in own) < 0.3 * sum(n for _, n in others)
