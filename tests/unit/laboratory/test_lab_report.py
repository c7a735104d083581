"""The report of a run: what it says, as a page and as data."""

import dataclasses
import json
import re
from array import array

import numpy as np
import pytest

from propagation.errors import PropagationError
from propagation.laboratory.experiments import EXPERIMENTS
from propagation.laboratory.experiments.claims import Slice
from propagation.laboratory.history import Known
from propagation.laboratory.methods import Measured, Popularity, Random
from propagation.laboratory.runs import (
    Part,
    RunReport,
    build_report,
    collect_results,
    open_run,
    plan_run,
    read_known,
    read_parts,
    read_plan,
    run_methods,
)
from propagation.laboratory.runs.report import SeriesReport
from propagation.model import InvalidInput
from services.laboratory.charts import draw_series_chart
from services.laboratory.page import describe_pair, render_run
from tests.unit.laboratory.lab_data import EACH, USERS, build_dataset

CHANGED = dataclasses.replace(
    EXPERIMENTS["recnet/figure5"],
    measures=("n1", "n10"),
    published_measures=("n10",),
    published={"CDs": {"pop": (0.2433,), "agentcf": (0.4898,)}},
    labels={"pop": "Pop"},
    slices=(Slice("history", 1, 4), Slice("history", 5, 5)),
    series=("routers",),
    reference="random",
    missing=("agentcf",),
)


class Measuring(Popularity):
    """Pop with planted measurements."""

    def get_measured(self, seed):
        return Measured(counts={"rounds": 4.0 + seed}, series={"routers": [5.0, 9.0 + seed]})


@pytest.fixture
async def report(tmp_path):
    dataset, protocol = build_dataset(), CHANGED.protocol
    plan = plan_run(CHANGED.name, dataset, protocol)
    with open_run(tmp_path / "run", plan):
        methods = [Random(), Measuring()]
        await run_methods(tmp_path / "run", dataset, protocol, methods, [1, 2], lambda *_: None)
    parts, known = read_parts(tmp_path / "run"), read_known(tmp_path / "run")
    assert [*known.history] == [EACH - 1] * USERS
    assert known.adopters.sum() > 0
    return build_report(CHANGED, plan, parts, known, CHANGED.reference, {"python": "3"})


def test_figures_have_standard_errors_over_users(report):
    pop = {one.method: one for one in report.methods}["pop"]
    assert pop.errors["n10"] > 0
    assert pop.against.mean == pytest.approx(
        pop.means["n10"] - {one.method: one for one in report.methods}["random"].means["n10"]
    )
    assert pop.counts["rounds"] == 5.5, "the mean over seeds"
    assert pop.counts["seconds"] > 0
    assert report.data.sparsity == pytest.approx(1 - EACH / 30)


def test_slices_hold_the_targets_with_as_many_known_interactions(report):
    few, all_ = report.slices
    assert (few.targets, all_.targets) == (0, USERS)
    assert few.means["pop"] is None
    assert all_.means["pop"] == pytest.approx(
        {one.method: one for one in report.methods}["pop"].means["n10"]
    )


def test_the_page_says_what_the_data_say_and_loads_nothing(report):
    page = render_run(report, ("rounds",))
    pop = {one.method: one for one in report.methods}["pop"]
    row = re.search(r"<tr><td>pop</td><td>Pop</td>.*?</tr>", page)[0]
    assert f"{pop.means['n10']:.4f} ± {pop.errors['n10']:.4f}" in row
    assert "0.2433" in row, "the paper's figure is in the same row"
    assert "5.5" in row
    assert re.search(r"<td>agentcf</td><td>agentcf</td><td[^>]*>not run</td>.*?0\.4898", page)
    assert page.count("not run") == 1 + len(CHANGED.claims)
    assert "<svg" in page
    assert "pop: 10.5" in page, "the end of the series, as the mean over seeds"
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)


def test_the_json_file_has_the_same_content(report):
    read = RunReport.model_validate_json(report.model_dump_json())
    assert render_run(read, ("rounds",)) == render_run(report, ("rounds",))
    assert json.loads(report.model_dump_json())["claims"][0]["verdict"] == "not run"


def test_a_run_without_what_is_known_of_its_targets_is_named(tmp_path):
    with pytest.raises(PropagationError, match="the next `propagation lab run` makes it again"):
        read_known(tmp_path)
    (tmp_path / "targets.npz").write_bytes(b"half")
    with pytest.raises(PropagationError, match="cannot be read"):
        read_known(tmp_path)
    np.savez(tmp_path / "targets.npz", history=np.ones(3))
    with pytest.raises(PropagationError, match="cannot be read"):
        read_known(tmp_path)


def test_targets_of_another_number_than_the_results_are_named(report, tmp_path):
    parts, plan = read_parts(tmp_path / "run"), read_plan(tmp_path / "run")
    known = Known(*np.ones((2, USERS + 1), np.int64))
    named = rf"targets\.npz cannot be used \(it has {USERS + 1} targets.*have {USERS}\); delete it"
    with pytest.raises(PropagationError, match=named):
        build_report(CHANGED, plan, parts, known, "random", {})
    with pytest.raises(PropagationError, match=named):
        collect_results(parts, known)


def test_labels_of_lines_that_end_together_do_not_overlap():
    ends = [0.0, 0.0, 0.0, 30.0]
    series = [
        SeriesReport(name="routers", method=f"k{n}", seeds=[[5.0, end]])
        for n, end in enumerate(ends)
    ]
    chart = draw_series_chart("routers", series)
    places = sorted(
        float(text.get("y")) for text in chart.iter("text") if (text.text or "").startswith("k")
    )
    assert len(places) == len(ends)
    assert np.diff(places).min() >= 15
    assert places[-1] <= 266, "above the labels of the time"


def test_a_page_and_its_data_say_whether_after_is_more_than_before():
    reflection = EXPERIMENTS["agentcf/reflection"]
    draw = np.random.default_rng(1)
    targets = [(f"u{user}", "i") for user in range(60)]
    values = {name: draw.random(60) for name in reflection.measures}
    values["after_1"] = values["before_1"] + 0.2 + 0.01 * draw.random(60)
    values["after_2"] = values["before_2"] - 0.2 + 0.01 * draw.random(60)
    part = Part("agentcf", 1, "", targets, values)
    plan = plan_run(reflection.name, build_dataset(), reflection.protocol)
    found = build_report(reflection, plan, [part], None, "agentcf", {})
    verdicts = {one.claim: one for one in found.claims}
    assert verdicts["agentcf: after_1 > before_1"].verdict == "holds"
    assert verdicts["agentcf: after_1 > before_1"].units == 60
    assert verdicts["agentcf: after_2 > before_2"].verdict == "does not hold"
    page = render_run(found, ())
    difference = describe_pair(verdicts["agentcf: after_1 > before_1"].difference)
    assert f"<td>agentcf: after_1 &gt; before_1</td><td>holds</td><td>{difference}" in re.sub(
        r"<td [^>]*>", "<td>", page
    )


def test_a_made_up_order_is_said_before_the_figures():
    dataset = dataclasses.replace(build_dataset(), timed=False)
    protocol = CHANGED.protocol
    with pytest.raises(InvalidInput, match=r"halves has no times .*\(the events have no times\)"):
        plan_run(CHANGED.name, dataset, protocol)
    plan = plan_run(CHANGED.name, dataset, protocol, without_times=True)
    values = {name: np.ones(2) for name in CHANGED.measures}
    part = Part("pop", 1, "", [("a", "i"), ("b", "i")], values)
    found = build_report(CHANGED, plan, [part], None, "pop", {})
    assert found.data.plan.order_made_up
    page = render_run(found, ())
    assert page.index("The order of the events is made up") < page.index("Figures")
    plain = build_report(
        CHANGED, plan_run(CHANGED.name, build_dataset(), protocol), [part], None, "pop", {}
    )
    assert "made up" not in render_run(plain, ())


def test_one_time_for_all_events_is_no_order():
    dataset = build_dataset()
    same = dataclasses.replace(dataset.log, times=array("q", [5] * len(dataset)))
    with pytest.raises(InvalidInput, match=r"all events have one time\), and .* needs their"):
        plan_run(CHANGED.name, dataclasses.replace(dataset, log=same), CHANGED.protocol)
