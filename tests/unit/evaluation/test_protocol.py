"""The protocol on streams with a known truth."""

import asyncio

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.datasets.generated_town import generate_town
from propagation.evaluation.kernels.arms import ARMS, Control, create_evaluation_combiner
from propagation.evaluation.kernels.prequential import POPULARITY, _choose_scoring
from propagation.evaluation.protocols.metrics import pair_up
from propagation.evaluation.protocols.numbers_ranking import Report, evaluate_prequential
from propagation.evaluation.reports.plot import plot_cold_start, plot_over_time
from propagation.evaluation.reports.slice_plot import WORSE_COLOUR, draw_slices
from propagation.evaluation.reports.table import (
    HEADERS,
    LABELS,
    MEASURES,
    SLICE_HEADERS,
    arm_rows,
    slice_rows,
)
from propagation.evaluation.stream import EvaluationSettings, Stream, build_stream
from propagation.model import InvalidInput
from propagation.numbers.rules import START_WEIGHT, Feature, adjust_for_newcomers

SETTINGS = EvaluationSettings(seeds=(1,), session_k=16, taste_k=16, plot_points=4, every=3)


def two_communities(users: int = 240, items: int = 600, each: int = 30) -> Stream:
    """Textless; users adopt from their own half of the items, in random order."""
    rng = np.random.default_rng(5)
    user = np.repeat(np.arange(users), each)
    item = np.concatenate(
        [rng.permutation(items // 2)[:each] + (items // 2) * (one % 2) for one in range(users)]
    )
    return Stream(
        "planted",
        [""] * items,
        [""] * items,
        user,
        item,
        rng.permutation(len(user)),
        np.arange(len(user)),
    )


@pytest.fixture(scope="module")
def dataset():
    return generate_town(7).dataset.first(300)


@pytest.fixture(scope="module")
def report() -> Report:
    heard: list[tuple[int, int]] = []
    found = asyncio.run(
        evaluate_prequential(
            two_communities(),
            HashedEmbedder(0),
            SETTINGS,
            commit="abc",
            progress=lambda done, total: heard.append((done, total)),
        )
    )
    assert heard[-1] == (7200, 7200)
    return found


@pytest.mark.slow
def test_on_a_textless_stream_with_two_communities_adoption_beats_placebo(report):
    adoption, placebo = report.arm("adoption"), report.arm("placebo")
    assert adoption.n10 > placebo.n10 + 0.003
    assert adoption.against_off.t > 4 > abs(placebo.against_off.t)


def test_the_report_states_what_was_run(report):
    assert (report.users, report.items, report.events, report.reported_from) == (
        240,
        600,
        7200,
        2880,
    )
    assert report.commit == "abc"
    assert list(report.ends) == [1800, 3600, 5400, 7200]
    assert {len(means) for means in report.over_time.values()} == {4}
    written = report.model_dump_json()
    assert Report.model_validate_json(written).model_dump_json() == written
    assert all(len(row) == len(HEADERS) for row in arm_rows(report, MEASURES, LABELS))


@pytest.mark.slow
def test_the_embedder_is_that_of_the_reported_seed(dataset):
    stream = build_stream(dataset)

    def evaluate(seeds, reported=None):
        settings = SETTINGS.model_copy(update={"seeds": seeds, "session_k": 4, "taste_k": 4})
        return asyncio.run(
            evaluate_prequential(stream, HashedEmbedder(0), settings, reported=reported)
        )

    first, second = evaluate((1,)), evaluate((2,))
    assert first.embedder != second.embedder
    for seed, alone in ((1, first), (2, second)):
        found = evaluate((1, 2), seed)
        assert (found.seed, found.embedder) == (seed, alone.embedder)
        assert found.arm("off").n10 == alone.arm("off").n10


@pytest.mark.slow
def test_plots_are_pictures(report, tmp_path):
    plot_over_time(report, tmp_path / "over_time.svg")
    plot_cold_start(report.slices, r"a title, not a formula: $\frac$", tmp_path / "cold.svg")
    for name in ("over_time.svg", "cold.svg"):
        assert (tmp_path / name).read_text().lstrip().startswith("<?xml")


def test_slices_are_plotted_as_they_are_tabulated(report):
    from matplotlib.figure import Figure

    figure = Figure()
    draw_slices(figure.add_subfigure(figure.add_gridspec(1, 1)[0]), report.slices)
    for axes, side in zip(figure.subfigs[0].axes, ("user", "item"), strict=True):
        parts = [part for part in report.slices if part.of == side and part.events]
        assert [label.get_text() for label in axes.get_yticklabels()] == [
            f"{part.span}\n({part.events:,})" for part in parts
        ]
        pairs = [pair for part in parts for pair in (part.over_knn, part.gain_live)]
        assert [text.get_text() for text in axes.texts] == [
            f"{pair.mean:+.4f} ± {pair.standard_error:.4f}" for pair in pairs
        ]
        *marks, zero = axes.lines
        assert [mark.get_xdata()[0] for mark in marks] == [pair.mean for pair in pairs]
        assert [mark.get_color() == WORSE_COLOUR for mark in marks] == [
            pair.mean < -pair.standard_error for pair in pairs
        ]
        assert list(zero.get_xdata()) == [0, 0]
        bars = [bar.get_segments()[0][:, 0] for bar in axes.collections]
        for pair, thin, thick in zip(pairs, bars[::2], bars[1::2], strict=True):
            error = pair.standard_error
            assert list(thin) == pytest.approx([pair.mean - 1.96 * error, pair.mean + 1.96 * error])
            assert list(thick) == pytest.approx([pair.mean - error, pair.mean + error])


def test_cold_slices_hold_every_reported_event_once_by_user_and_once_by_item(report):
    newcomers, *users = [part for part in report.slices if part.of == "user"]
    assert sum(part.events for part in users) == report.ranked
    assert sum(part.events for part in report.slices if part.of == "item") == report.ranked
    assert newcomers.events == 0, "all users began before the reported events"
    assert all(part.gain.standard_error > 0 for part in users if part.events)
    assert len(slice_rows(report.slices)[0]) == len(SLICE_HEADERS)


def test_first_events_are_in_the_slice_of_newcomers_and_in_no_other_figure():
    kept = []
    report = asyncio.run(
        evaluate_prequential(
            two_communities(40, 100, 8),
            HashedEmbedder(0),
            SETTINGS.model_copy(update={"report_from": 0, "every": 1}),
            keep=lambda seed, known, ranked: kept.append((seed, known, ranked)),
        )
    )
    newcomers, *users = [part for part in report.slices if part.of == "user"]
    assert (newcomers.span, newcomers.events) == ("0", 40)
    assert newcomers.gain.mean == pytest.approx(newcomers.adoption - newcomers.off)
    assert sum(part.events for part in users) == report.ranked == 40 * 7
    ((seed, known, ranked),) = kept
    assert (seed, known, len(ranked.user)) == (1, "moment", 40 * 8)
    assert sorted(ranked.event) == list(range(40 * 8))
    assert report.future_share == pytest.approx(
        sum(8 - 1 - past for past in range(1, 8)) / sum(100 - 1 - past for past in range(1, 8))
    )


def test_newcomers_are_read_as_the_service_reads_them():
    combiner = create_evaluation_combiner()
    combiner.weights[:, :, 0] *= -1
    read = _choose_scoring(combiner, 0).weights
    assert read == pytest.approx(_choose_scoring(adjust_for_newcomers(combiner), 0).weights)
    assert (read[: len(ARMS), :, POPULARITY] >= START_WEIGHT).all()
    assert (_choose_scoring(combiner, 1).weights[: len(ARMS), :, POPULARITY] < 0).all()


def test_the_controls_of_routing_are_weighed_as_routing_is():
    least = create_evaluation_combiner().least
    lifts = [Feature.LIFT_SESSION, Feature.LIFT_TASTE]
    controls = [Control.PLACEBO_SESSION, Control.PLACEBO_TASTE, Control.SEMANTIC]
    assert set(least[lifts]) == set(least[controls]) == {0.15}


def test_a_catalogue_without_events_is_refused():
    nothing = np.empty(0, np.int64)
    with pytest.raises(InvalidInput, match="nothing to rank"):
        asyncio.run(
            evaluate_prequential(
                Stream("cds", ["a"] * 5, ["a"] * 5, *[nothing] * 4),
                HashedEmbedder(0),
                SETTINGS,
            )
        )


def test_events_that_are_all_repeats_are_refused():
    user, item = np.tile(np.arange(5).repeat(4), 30), np.tile(np.arange(4), 150)
    with pytest.raises(InvalidInput, match="each repeats"):
        asyncio.run(
            evaluate_prequential(
                Stream("repeats", [""] * 4, [""] * 4, user, item, *[np.arange(600)] * 2),
                HashedEmbedder(0),
                SETTINGS,
            )
        )


def test_shuffling_keeps_every_event_and_its_item_text():
    stream = Stream(
        "s",
        ["a", "b", "c"],
        ["", "", ""],
        np.array([0, 1, 1]),
        np.array([2, 0, 1]),
        np.array([5, 1, 3]),
        np.arange(3),
        fixed=np.array([[0, 2], [1, -1]]),
    )
    shuffled = stream.shuffle(4)
    assert [shuffled.item_texts[row] for row in shuffled.item] == ["a", "b", "c"]
    assert shuffled.time.tolist() == [1, 3, 5]
    assert shuffled.event.tolist() == [1, 2, 0]
    texts = [*shuffled.item_texts, None]
    assert [texts[row] for row in shuffled.fixed[shuffled.user[2]]] == ["a", "c"]
    assert [texts[row] for row in shuffled.fixed[shuffled.user[0]]] == ["b", None]
    assert pair_up(np.zeros(3), np.zeros(3), shuffled.user).mean == 0
