"""Which routers still have their numbers; examples computed by hand."""

import pytest

from propagation.model import (
    EvolutionChange,
    EvolutionKind,
    EvolutionRun,
    PublishedRun,
    RouterEnd,
    RouterSuccession,
    find_undoing_runs,
)

MERGE = EvolutionChange(kind=EvolutionKind.MERGE, before=(1, 3), after=(1,))
BACK = EvolutionChange(kind=EvolutionKind.SPLIT, before=(1,), after=(1, 3))
SPLIT = EvolutionChange(kind=EvolutionKind.SPLIT, before=(2,), after=(2, 3))
REWRITE = EvolutionChange(kind=EvolutionKind.REWRITE, before=(0,), after=(0,))


def report(run, *changes, undoes=None, published=True, time=100):
    return EvolutionRun(
        run=run,
        sequence=10 * run if published else 0,
        published=published,
        changes=changes,
        undoes=undoes,
        time=time,
    )


def build_succession(*reports, bootstrap=0):
    runs = [PublishedRun.from_report(one) for one in reports]
    return RouterSuccession(bootstrap, 50 if bootstrap else 0, runs)


MERGED = report(1, MERGE)
UNDONE = report(2, BACK, undoes=1)
AGAIN = report(3, MERGE, undoes=2)
GIVEN = report(2, SPLIT)


@pytest.mark.parametrize(
    ("runs", "router", "sequence", "end"),
    [
        ((MERGED,), 3, 5, RouterEnd(10, 1, 1)),
        ((MERGED,), 1, 5, None),
        ((MERGED,), 3, 10, None),
        ((MERGED, GIVEN), 3, 5, RouterEnd(10, 1, 1)),
        ((MERGED, GIVEN), 3, 20, None),
        ((MERGED, UNDONE), 3, 5, None),
        ((MERGED, UNDONE, AGAIN), 3, 5, RouterEnd(30, 3, 1)),
        ((MERGED, UNDONE, AGAIN), 3, 25, RouterEnd(30, 3, 1)),
    ],
)
def test_a_router_ends_when_its_number_is_given_up_for_good(runs, router, sequence, end):
    assert build_succession(*runs).find_end(router, sequence) == end


def test_a_half_ends_with_the_undo_of_its_split():
    undo = EvolutionChange(kind=EvolutionKind.MERGE, before=(2, 3), after=(2,))
    succession = build_succession(report(1, SPLIT), report(2, undo, undoes=1))
    assert succession.find_end(3, 10) == RouterEnd(20, 2, 2)
    assert succession.find_end(2, 10) is None


def test_a_bootstrap_ends_all_routers():
    succession = build_succession(MERGED, bootstrap=7)
    assert succession.find_end(2, 6) == RouterEnd(7)
    assert succession.find_end(2, 7) is None


def test_a_run_whose_undo_was_undone_is_not_undone():
    fourth = report(4, BACK, undoes=3)
    assert find_undoing_runs([MERGED]) == {}
    assert find_undoing_runs([MERGED, UNDONE]) == {1: 2}
    assert find_undoing_runs([MERGED, UNDONE, AGAIN]) == {2: 3}
    assert find_undoing_runs([MERGED, UNDONE, AGAIN, fourth]) == {3: 4, 1: 2}
    assert build_succession(MERGED, UNDONE).find_undoing_run(1) == 2


def test_a_run_lists_the_numbers_that_stand_for_the_same_routers():
    merge_and_rewrite = report(1, MERGE, REWRITE)
    refused = report(4, MERGE, published=False)
    succession = build_succession(merge_and_rewrite, GIVEN)
    assert succession.list_current_routers(merge_and_rewrite) == [0, 1]
    assert succession.list_current_routers(GIVEN) == [2, 3], "3 is the new half"
    assert succession.list_current_routers(refused) == [1, 3]
    assert succession.list_current_routers(report(0, MERGE, published=False)) == [1, 3]
    undone = build_succession(merge_and_rewrite, report(2, BACK, undoes=1))
    assert undone.list_current_routers(merge_and_rewrite) == [0, 1, 3], "3 has its number again"


def test_a_run_from_before_a_bootstrap_lists_no_numbers():
    succession = build_succession(bootstrap=15)
    assert succession.list_current_routers(MERGED) == []
    assert succession.list_current_routers(report(2, MERGE, published=False, time=49)) == []
    assert succession.list_current_routers(report(2, MERGE, published=False, time=50)) == [1, 3]
