"""Names of routers: what sets them apart, each unlike the others, kept as long as they fit."""

import numpy as np
import pytest

from propagation.model import RouterVersion
from propagation.routing import RouterNames, name_router_versions


def router(number, name="", **weights):
    """A version that stands for attributes; "_" in their names is a blank."""
    standing = tuple((one.replace("_", " "), float(weight)) for one, weight in weights.items())
    return RouterVersion(number, 1, 1, 1, name=name, text="t", standing=standing)


def list_names(current, versions):
    return [version.name for version in name_router_versions(current, versions)]


OTHERS = [router(n, f"taken {n}", drama=50, comedy=40, love=10) for n in range(3, 9)]


def test_a_name_is_what_weighs_more_here_than_elsewhere_and_not_what_weighs_most():
    noir = router(1, drama=50, comedy=20, film_noir=12, mystery=9, thriller=8)
    assert list_names(OTHERS, [noir]) == ["film noir and mystery"]


def test_an_attribute_that_came_once_does_not_win():
    noir = router(1, drama=50, comedy=20, film_noir=12, mystery=9, zither=1)
    assert list_names(OTHERS, [noir]) == ["film noir and mystery"]


def test_an_attribute_does_not_stand_beside_another_one_that_has_its_words():
    jazz = router(1, drama=50, jazz=30, jazz_piano=25, swing=12)
    assert list_names(OTHERS, [jazz]) == ["jazz and swing"]


def test_routers_that_stand_for_the_same_are_called_otherwise():
    alike = [router(n, jazz=9, blues=8, swing=7) for n in range(8)]
    found = list_names([], alike)
    assert found[:3] == ["jazz and blues", "jazz and swing", "blues and swing"]
    assert found[3:5] == ["jazz, blues and swing", "jazz"]
    assert len(set(found)) == 8


def test_the_order_of_the_words_makes_no_other_name():
    assert list_names([router(1, "blues and jazz", blues=9)], [router(2, jazz=9, blues=8)]) != [
        "jazz and blues"
    ]


def test_only_attributes_tell_nothing_apart():
    assert list_names([], [router(n, jazz=1) for n in range(3)]) == ["jazz", "jazz (2)", "jazz (3)"]


def test_a_router_that_stands_for_nothing_has_no_name():
    assert list_names([], [router(1), router(2)]) == ["", ""]


def test_a_name_stays_while_its_attributes_set_the_router_apart():
    before = router(1, "film noir and mystery", drama=50, film_noir=12, mystery=9)
    turned = router(1, drama=50, mystery=12, thriller=11, film_noir=9)
    assert list_names([before, *OTHERS], [turned]) == ["film noir and mystery"]
    gone = router(1, drama=50, mystery=12, thriller=11)
    assert list_names([before, *OTHERS], [gone]) == ["mystery and thriller"]
    common = router(1, drama=50, comedy=40, mystery=12, thriller=11, film_noir=9)
    assert list_names([router(1, "comedy and mystery"), *OTHERS], [common]) == [
        "mystery and thriller"
    ]


def test_a_name_of_another_router_is_not_taken_in_the_round_in_which_it_ends():
    before = [router(1, "jazz and blues", jazz=9, blues=8), router(2, "opera", opera=9)]
    changed = [router(1, opera=9, lieder=5), router(2, jazz=9, blues=8)]
    assert list_names(before, changed) == ["opera and lieder", "jazz"]


def test_of_two_routers_of_one_name_one_keeps_it():
    """As in a database from before names were unique."""
    before = [router(n, "jazz and blues", jazz=9, blues=8, swing=n) for n in (1, 2)]
    found = list_names(
        [*before, *OTHERS], before and [router(n, jazz=9, blues=8, swing=n) for n in (1, 2)]
    )
    assert found == ["jazz and swing", "jazz and blues"]


def test_a_models_name_is_kept_or_told_apart_by_an_attribute():
    known = [router(3, "Night Owls", jazz=9)]
    assert list_names(known, [router(1, "Early birds", swing=9)]) == ["Early birds"]
    (extended,) = list_names(known, [router(1, "night owls", swing=9)])
    assert extended == "night owls (swing)"
    again = [router(1, "night owls (swing)", swing=9), *known]
    assert list_names(again, [router(1, "night owls", bop=9, swing=3)]) == ["night owls (swing)"]
    bare = RouterVersion(2, 1, 1, 1, name="night owls", text="t")
    assert list_names(again, [bare]) == ["night owls (2)"]


@pytest.mark.parametrize("seed", range(5))
def test_names_are_unique_and_the_same_each_time_over_many_rounds(seed):
    """Few attributes, many routers, of which some change in each round."""
    draw = np.random.default_rng(seed)

    def draw_router(number):
        return router(number, **{f"genre_{n}": draw.random() for n in range(9)})

    current = {}
    for _ in range(12):
        changed = [
            draw_router(number) for number in sorted(draw.choice(60, 25, replace=False).tolist())
        ]
        named = name_router_versions(current.values(), changed)
        assert named == name_router_versions(list(current.values()), changed)
        current |= {version.router: version for version in named}
        assert len({version.name for version in current.values()}) == len(current)


def test_a_router_may_be_named_again_without_giving_its_name_away():
    """Redaction names older versions, too."""
    given = RouterNames([router(1, "jazz and blues"), router(2, "opera")])
    assert given.rename(1, {"swing": 3.0}) == "swing"
    assert given.rename(2, {"jazz": 3.0, "blues": 2.0}) == "jazz"
    assert given.rename(1, {"jazz": 3.0, "swing": 2.0}) == "swing"
