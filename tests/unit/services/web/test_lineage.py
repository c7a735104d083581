"""The lineage of routers: who came from whom, in which stretch of a line, and of whom only."""

from propagation.v1 import propagation_pb2 as pb
from services.web.pictures.lineage import draw_lineage, trace_lineage

SPLIT, MERGE, REWRITE = (
    pb.EVOLUTION_KIND_SPLIT,
    pb.EVOLUTION_KIND_MERGE,
    pb.EVOLUTION_KIND_REWRITE,
)


def make_run(number, *changes, published=True):
    return pb.EvolutionRun(
        run=number,
        published=published,
        changes=[
            pb.EvolutionChange(kind=kind, before=before, after=after)
            for kind, before, after in changes
        ],
    )


def list_lives(lineage):
    return [(life.router, life.begin, life.end) for life in lineage.lives]


def list_marks(picture, tag):
    return [element.get("class") for element in picture.iter(tag) if element.get("class")]


def test_a_split_begins_a_line_and_a_merge_ends_one():
    runs = [
        make_run(2, (MERGE, [1, 5], [1])),
        make_run(1, (SPLIT, [5], [5, 7]), (REWRITE, [1], [1])),
    ]
    lineage = trace_lineage(runs)
    assert [run.run for run in lineage.runs] == [1, 2]
    assert list_lives(lineage) == [(5, None, 1), (7, 0, None), (1, None, None)]
    assert lineage.order == [5, 7, 1], "a new router is below the one that it came from"
    picture = draw_lineage(lineage, {1: "one"})
    assert sorted(list_marks(picture, "path")) == ["flow merge", "flow split"]
    assert list_marks(picture, "rect") == ["turn rewrite"]
    assert picture.get("role") == "group", "it contains links"


def test_a_number_that_is_used_anew_gets_a_second_stretch():
    runs = [make_run(1, (MERGE, [0, 3], [0])), make_run(2, (SPLIT, [0], [0, 3]))]
    lineage = trace_lineage(runs)
    assert list_lives(lineage) == [(0, None, None), (3, None, 0), (3, 1, None)]
    assert lineage.order == [0, 3]


def test_only_a_routers_relatives_are_traced():
    runs = [
        make_run(1, (SPLIT, [0], [0, 8]), (MERGE, [4, 6], [4])),
        make_run(2, (REWRITE, [4], [4])),
        make_run(3, (MERGE, [2, 8], [2])),
    ]
    lineage = trace_lineage(runs, 2)
    assert sorted(lineage.order) == [0, 2, 8]
    assert [run.run for run in lineage.runs] == [1, 3]
    assert trace_lineage(runs, 77).order == []


def test_a_plan_that_was_not_published_changes_no_line():
    runs = [make_run(1, (SPLIT, [0], [0, 8]), published=False)]
    assert draw_lineage(trace_lineage(runs), {}) is None
    lineage = trace_lineage(runs, 0)
    assert list_lives(lineage) == [(0, None, None)]
    picture = draw_lineage(lineage, {}, 0)
    assert list_marks(picture, "circle") == ["turn split refused"]
    assert not list_marks(picture, "path")


def test_without_runs_there_is_no_picture():
    assert draw_lineage(trace_lineage([]), {}) is None
    assert draw_lineage(trace_lineage([make_run(1)]), {}) is None
