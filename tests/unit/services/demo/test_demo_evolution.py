"""The evolution in words: what became of whom, why, and the verdict."""

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.demo.printing import show_evolution


@pytest.fixture
def show_run(capsys):
    def show(run):
        show_evolution(run, {4: "jazz [bold]and cellars", 50: "hill walks"})
        return capsys.readouterr().out

    return show


def test_lineage_reason_and_verdict_are_told(show_run):
    merge = pb.EvolutionChange(
        kind=pb.EVOLUTION_KIND_MERGE, before=[4, 50], after=[4], reason="one community"
    )
    split = pb.EvolutionChange(kind=pb.EVOLUTION_KIND_SPLIT, before=[50], after=[50, 80])
    text = show_run(pb.EvolutionRun(published=True, verdict="no worse", changes=[merge, split]))
    assert "4 + 50 → 4" in text
    assert "jazz [bold]and cellars; hill walks" in text
    assert "one community" in text
    assert "50 → 50 + 80" in text
    assert "Verdict: no worse." in text
    assert "live as a new epoch" in text


def test_a_refused_run_changes_nothing_and_a_long_plan_is_shortened(show_run):
    many = [
        pb.EvolutionChange(kind=pb.EVOLUTION_KIND_REWRITE, before=[n], after=[n]) for n in range(9)
    ]
    text = show_run(pb.EvolutionRun(verdict="worse", changes=many))
    assert "and 3 more" in text
    assert "stay as they were" in text
