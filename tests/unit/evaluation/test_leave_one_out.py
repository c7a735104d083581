"""Leave-last-one-out on a stream with a known truth."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.numbers_ranking import (
    LeaveOneOutReport,
    evaluate_leave_one_out,
)
from propagation.evaluation.protocols.passes import ALL_FIXED_N10, FIXED_N10, RANK
from propagation.evaluation.reports.plot import draw_leave_one_out
from propagation.evaluation.reports.table import (
    FIXED_HEADERS,
    LABELS,
    LEAVE_ONE_OUT_HEADERS,
    LEAVE_ONE_OUT_MEASURES,
    arm_rows,
    build_fixed_rows,
)
from propagation.evaluation.stream import EvaluationSettings
from tests.unit.evaluation.test_protocol import two_communities

SETTINGS = EvaluationSettings(seeds=(1,), session_k=16, taste_k=16)


@pytest.fixture(scope="module")
def report() -> LeaveOneOutReport:
    return asyncio.run(
        evaluate_leave_one_out(two_communities(), HashedEmbedder(0), SETTINGS, commit="abc")
    )


@pytest.mark.slow
def test_every_user_is_a_target_and_communities_are_worth_more_than_chance(report):
    end = report.setting("end")
    assert end.targets == 240
    chance = np.mean(1 / np.log2(2 + np.arange(10)))
    assert end.arm("popularity").n10 == pytest.approx(chance, abs=0.06)
    assert end.arm("offk_adoption").n10 > chance + 0.1
    assert end.arm("adoption").against_off.mean > abs(end.arm("placebo").against_off.mean)


def test_nothing_of_the_future_is_known_at_the_targets_own_moment(report):
    moment = report.setting("moment").arm("adoption").n10
    assert moment < report.setting("end").arm("adoption").n10


def test_a_hundred_candidates_are_harder_than_ten(report):
    for setting in report.known:
        assert all(arm.n10_of_100 < arm.n10 for arm in setting.arms)


def test_slices_hold_every_target_once_by_user_and_once_by_item(report):
    slices = report.setting("end").slices
    assert [sum(part.events for part in slices if part.of == of) for of in ("user", "item")] == [
        240,
        240,
    ]


def test_nothing_lies_after_a_last_event(report):
    kept = []
    asyncio.run(
        evaluate_leave_one_out(
            two_communities(40, 100, 8),
            HashedEmbedder(0),
            SETTINGS,
            keep=lambda seed, known, ranked: kept.append((seed, known, ranked)),
        )
    )
    assert [(seed, known) for seed, known, _ in kept] == [
        (1, "end"),
        (1, "moment"),
        (1, "shuffled"),
    ]
    for _, known, ranked in kept:
        assert len(ranked.user) == 40
        assert not ranked.future.any()
        assert set(ranked.negatives) == {100 - 8}, known


def test_fixed_candidates_are_what_a_target_is_ranked_against():
    """With every unseen item as a candidate the rank is that among all; nine count as nine."""
    stream = two_communities(40, 100, 8)
    unseen = [np.setdiff1d(np.arange(100), stream.item[stream.user == user]) for user in range(40)]
    rows = np.array([np.append(items, -1) for items in unseen])
    kept = []
    report = asyncio.run(
        evaluate_leave_one_out(
            replace(stream, fixed=rows),
            HashedEmbedder(0),
            SETTINGS,
            keep=lambda seed, known, ranked: kept.append(ranked),
        )
    )
    live = kept[0].values[:, 0]
    rank = live[:, RANK]
    alone = rank == np.floor(rank)
    gains = np.where(rank <= 10, 1 / np.log2(1 + rank), 0)
    assert alone.sum() > 20
    assert live[alone, ALL_FIXED_N10] == pytest.approx(gains[alone])
    assert (live[:, FIXED_N10] >= live[:, ALL_FIXED_N10] - 1e-9).all()
    end = report.setting("end").arm("offk_adoption")
    assert end.n10_of_all_fixed == pytest.approx(live[:, ALL_FIXED_N10].mean())
    assert len(build_fixed_rows(report.known, LABELS)[0]) == len(FIXED_HEADERS)


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
