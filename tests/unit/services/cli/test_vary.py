"""`evaluate --vary`: one setting at several values, on the same events."""

import pytest

from propagation.datasets.generated_town import generate_town
from propagation.evaluation.reports.table import build_effect_gains, build_effect_levels
from propagation.evaluation.stream import build_stream
from propagation.optimization.holdout_judge import Verdict
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.cli.research.protocols import build_evaluation_settings
from services.cli.research.vary import measure
from services.client.errors import UsageProblem
from services.config.settings import Settings

SETTINGS = Settings(
    workflow=WorkflowSettings(
        session=BankSettings(k=4),
        taste=BankSettings(k=4),
        table_edges=2,
        update_size=20,
        evolve_support=5,
        holdout=60,
    )
)


@pytest.fixture(scope="module")
def dataset():
    return generate_town(7).dataset.first(400)


def vary(text, dataset, first=None):
    options = build_evaluation_settings(SETTINGS, seeds=1, every=4)
    return measure(text, dataset, build_stream(dataset), SETTINGS, options, first)


@pytest.mark.slow
def test_k_is_varied_and_what_knows_no_router_stays(dataset, tmp_path):
    outcome = vary("k=2,6", dataset)
    few, more = outcome.report.points
    assert (few.value, more.value) == (2, 6)
    assert (few.n10["off"], few.n10["offk"]) == pytest.approx((more.n10["off"], more.n10["offk"]))
    assert few.n10["adoption"] != more.n10["adoption"]
    for headers, rows in (build_effect_levels(outcome.report), build_effect_gains(outcome.report)):
        assert all(len(row) == len(headers) for row in rows)
    outcome.draw(tmp_path / "k.svg")
    assert (tmp_path / "k.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.slow
def test_all_values_are_of_one_seed(dataset):
    options = build_evaluation_settings(SETTINGS, seeds=3, every=4)
    outcome = measure("k=2,6,4", dataset, build_stream(dataset), SETTINGS, options, None)
    effect = outcome.report
    assert len({point.n10["off"] for point in effect.points}) == 1, "it knows no router"
    assert f"seed {effect.seed}, the median of 3 at the first value" in outcome.tables[0][0]


def test_above_every_cosine_nothing_is_routed(dataset):
    by_rule, unreachable = vary("tau=default,1", dataset).report.points
    assert by_rule.value is None
    assert by_rule.gains["semantic"].mean != 0
    assert unreachable.n10["semantic"] == pytest.approx(unreachable.n10["off"], abs=1e-9)


def test_the_loop_has_a_temporary_file_of_its_own_and_asks_no_model(dataset, monkeypatch):
    class Built(Exception):
        pass

    def build(settings):
        raise Built(settings.graph_file.parent.name, settings.index, settings.reasoner)

    monkeypatch.setattr("services.assembly.build_engine", build)
    servers = SETTINGS.model_copy(
        update={"store": "neo4j", "index": "qdrant", "reasoner": "openai"}
    )
    options = build_evaluation_settings(servers, seeds=1)
    with pytest.raises(Built) as built:
        measure("buffer=1", dataset, build_stream(dataset), servers, options, 60)
    folder, *others = built.value.args
    assert folder.startswith("propagation-effect-")
    assert others == ["numpy", "offline"]


@pytest.mark.slow
def test_a_smaller_buffer_lets_more_fall_out(dataset):
    small, large = vary("buffer=1,8", dataset, first=200).report.points
    assert small.counts["fell out"] > large.counts["fell out"]
    assert set(small.n10) == {"off", "plain", "text", "rules"}


@pytest.mark.slow
def test_evolution_is_compared_with_none_on_the_same_events(dataset, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Verdict, "published", True)  # so few users tell it nothing
    outcome = vary("evolution=3", dataset, first=200)
    off, often = outcome.report.points
    assert [row[0] for row in build_effect_levels(outcome.report)[1]] == ["off", "3"], (
        "the points are labelled"
    )
    assert (off.counts["runs"], off.counts["routers"], off.gains["evolved"].mean) == (0, 4, 0), (
        "without evolution nothing changes"
    )
    assert off.n10["off"] == often.n10["off"], "the arm without propagation is the same"
    assert 1 <= often.counts["published"] <= often.counts["runs"], "with it, runs are published"
    assert often.counts["routers"] == 4 + often.counts["splits"] - often.counts["merges"], (
        "the routers are those that the changes leave"
    )
    assert often.gains["evolved"].mean == pytest.approx(
        often.n10["rules"] - off.n10["rules"], abs=0.1
    ), "the gain is the difference of the figures"
    for headers, rows in (build_effect_levels(outcome.report), build_effect_gains(outcome.report)):
        assert all(len(row) == len(headers) for row in rows), "each row has a cell for each column"
    outcome.show()
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 160, (
        "readable where it is printed"
    )
    outcome.draw(tmp_path / "evolution.svg")
    assert "nth round" in (tmp_path / "evolution.svg").read_text(), "the drawing names the setting"


@pytest.mark.slow
def test_that_nothing_evolved_is_said(dataset, monkeypatch, capsys):
    monkeypatch.setattr(Verdict, "published", False)
    outcome = vary("evolution=3", dataset, first=200)
    outcome.show()
    assert "No evolution went live" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        "evolution=0",
        "evolution=default",
        "k",
        "k=",
        "k=two",
        "k=1",
        "k=2.5",
        "tau=2",
        "buffer=0",
        "buffer=default",
        "other=1",
    ],
)
def test_what_cannot_be_varied_is_refused(wrong, dataset):
    with pytest.raises(UsageProblem, match="--vary"):
        measure(wrong, dataset, None, SETTINGS, None, None)
