"""Numbers of routers that evolutions or a bootstrap have given to others."""

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.web.views.routers.evolution import list_kept_names
from services.web.views.routers.one_router import describe_successor

MERGE = pb.EvolutionChange(kind=pb.EVOLUTION_KIND_MERGE, before=[1, 3], after=[1])
SPLIT = pb.EvolutionChange(kind=pb.EVOLUTION_KIND_SPLIT, before=[2], after=[2, 3])
RUNS = [
    pb.EvolutionRun(run=3, sequence=0, published=False, changes=[MERGE]),
    pb.EvolutionRun(run=2, sequence=20, published=True, changes=[SPLIT]),
    pb.EvolutionRun(run=1, sequence=10, published=True, changes=[MERGE]),
]
GONE = "The router that sent it is gone: run 1: routers 1 and 3 became router 1."
BOOTSTRAP = pb.Operation(kind=pb.OPERATION_KIND_BOOTSTRAP, sequence=4)


@pytest.mark.parametrize(
    ("number", "sequence", "sentence"),
    [
        (3, 5, GONE),
        (3, 20, ""),
        (1, 5, ""),
        (2, 5, ""),
        (2, 3, "A bootstrap has replaced the router that sent it: all routers were made anew."),
    ],
)
def test_a_message_says_what_became_of_its_router(number, sequence, sentence):
    version = pb.RouterVersion(version=1, sequence=sequence)
    assert describe_successor(version, number, RUNS, BOOTSTRAP) == sentence


def test_a_run_names_the_routers_that_kept_their_numbers():
    names = {1: "jazz", 2: "opera", 3: "punk"}
    assert list_kept_names(RUNS[2], RUNS, names) == {1: "jazz", 2: "opera"}
    assert list_kept_names(RUNS[1], RUNS, names) == names, "its successor was not published"
    assert list_kept_names(RUNS[1], [], names) == {}, "before a bootstrap"
