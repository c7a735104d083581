"""Stored weights are read through maps; examples computed by hand."""

import numpy as np

from propagation.model import Halves, RouterMap, RouterMaps


def router_map(run, through, epoch, home, halves=None, undoes=None, routers=4):
    return RouterMap(
        run=run,
        through=through,
        from_epoch=epoch,
        to_epoch=epoch + 1,
        home=np.array(home),
        routers=routers,
        centres=np.zeros((len(home), 2), np.float32),
        halves=halves or {},
        undoes=undoes,
    )


SPLIT = router_map(1, 10, 1, [0, 1, 2], {1: Halves(1, 3, np.array([False, True]), True, 0.5)})
MERGE = router_map(2, 20, 2, [0, 1, 0, 3])
UNDO = router_map(
    3, 30, 3, [0, 1, 2, 3], {0: Halves(0, 2, np.array([False, True]), False, 0.5)}, undoes=2
)
USERS = np.array([0, 1, 2])


def test_a_weight_maps_to_its_users_half_and_a_new_users_to_the_larger():
    routers = np.array([[1, 0], [1, 2], [1, 1]], np.uint16)
    assert SPLIT.map_routers(routers, USERS).tolist() == [[1, 0], [3, 2], [3, 3]]
    assert SPLIT.map_routers(np.array([1, 1, 0]), USERS).tolist() == [1, 3, 0]


def test_a_split_router_becomes_both_halves_and_merged_routers_one():
    maps = RouterMaps([SPLIT, MERGE])
    assert maps.since(1).get_successors(1) == (1, 3)
    assert maps.since(1).get_successors(2) == (0,)
    assert maps.since(3).get_successors(2) == (2,)
    assert SPLIT.get_successors(9) == ()


def test_only_later_runs_map_a_weight():
    maps = RouterMaps([SPLIT, MERGE])
    routers = np.array([2, 1, 1])
    assert maps.after(10).map_routers(routers, USERS).tolist() == [0, 3, 3]
    assert maps.after(11).map_routers(routers, USERS).tolist() == [0, 1, 1]
    assert maps.after(21).map_routers(routers, USERS).tolist() == [2, 1, 1]


def test_an_undo_restores_older_weights_and_maps_newer_ones_to_the_users_half():
    maps = RouterMaps([SPLIT, MERGE, UNDO])
    assert maps.after(15).map_routers(np.array([2, 0, 2]), USERS).tolist() == [2, 0, 2]
    assert maps.after(25).map_routers(np.array([0, 0, 0]), USERS).tolist() == [0, 2, 0]
    assert maps.after(5).map_routers(np.array([1, 1, 2]), USERS).tolist() == [1, 3, 2]
