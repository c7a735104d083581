"""Leave-last-one-out on a stream with a known truth."""

import asyncio

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.by_numbers import LeaveOneOutReport, evaluate_leave_one_out
from propagation.evaluation.reports.plot import draw_leave_one_out
from propagation.evaluation.reports.table import (
    LABELS,
    LEAVE_ONE_OUT_HEADERS,
    LEAVE_ONE_OUT_MEASURES,
    arm_rows,
)
from propagation.evaluation.stream import EvaluationSettings
from tests.unit.evaluation.test_protocol import two_communities

SETTINGS = EvaluationSettings(seeds=(1,), session_k=16, taste_k=16)


@pytest.fixture(scope="module")
def report() -> LeaveOneOutReport:
    return asyncio.run(
        evaluate_leave_one_out(two_communities(), HashedEmbedder(0), SETTINGS, commit="abc")
    )


def test_every_user_is_a_target_and_communities_are_worth_more_than_chance(report):
    end = report.setting("end")
    assert end.targets == 240
    chance = np.mean(1 / np.log2(2 + np.arange(10)))
    assert end.arm("popularity").n10 == pytest.approx(chance, abs=0.06)
    assert end.arm("offk_adoption").n10 > chance + 0.1
    assert end.arm("adoption").against_off.mean > abs(end.arm("placebo").against_off.mean)


def test_nothing_of_the_future_is_known_at_the_targets_own_moment(report):
    moment = report.setting("moment").arm("offk_adoption").n10
    assert moment < report.setting("end").arm("offk_adoption").n10


def test_a_hundred_candidates_are_harder_than_ten(report):
    for setting in report.known:
        assert all(arm.n10_of_100 < arm.n10 for arm in setting.arms)


def test_slices_hold_every_target_once_by_user_and_once_by_item(report):
    slices = report.setting("end").slices
    assert [sum(part.events for part in slices if part.of == of) for of in ("user", "item")] == [
        240,
        240,
    ]


def test_a_report_is_read_back_as_it_was_written(report):
    written = report.model_dump_json()
    assert LeaveOneOutReport.model_validate_json(written).model_dump_json() == written


def test_tables_and_plot(report, tmp_path):
    assert all(
        len(row) == len(LEAVE_ONE_OUT_HEADERS)
        for row in arm_rows(report.setting("moment"), LEAVE_ONE_OUT_MEASURES, LABELS)
    )
    draw_leave_one_out(report, tmp_path / "left_out.svg")
    assert (tmp_path / "left_out.svg").read_text().lstrip().startswith("<?xml")
