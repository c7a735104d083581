"""RecNet's variants: what they share, and what each of them leaves out."""

import dataclasses

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.passes import N10, leave_one_out, run_pass
from propagation.evaluation.stream import EvaluationSettings, build_stream
from propagation.laboratory.experiments.recnet import EXPERIMENTS
from propagation.laboratory.methods.recnet import (
    ENGINE_VARIANTS,
    NUMBERS_VARIANTS,
    NumbersMethod,
)
from propagation.laboratory.protocols.last_events import split_last
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from services.cli.research.datasets import check_events
from services.config.settings import PRESETS, Settings
from services.laboratory.asking_methods import asks_model
from services.laboratory.methods import build_methods, change_workflow
from tests.unit.laboratory.lab_data import USERS, build_titled
from tests.unit.laboratory.test_lab_methods import ask_all


def build(names):
    """Build methods with rounds that suit 54 clients."""
    workflow = Settings().workflow.model_copy(update={"update_size": 10})
    settings = Settings().model_copy(update={"workflow": workflow})
    return build_methods(names, build_titled(), settings, check_events)


def note_engines(method, seen):
    """Make a method's replay note its engine when it has learned."""
    learn = method.replays._learn

    async def note(engine, plan, events):
        learned = await learn(engine, plan, events)
        texts = await engine.store.load_texts(
            await engine.store.find_refs([one.key for one in method.replays.dataset.clients])
        )
        waiting = await engine.store.get_waiting_messages(
            {ref: text.watermark for ref, text in texts.items()}
        )
        rules = sum(len(text.filter_memory.rules) for text in texts.values())
        seen.append((rules, sum(map(len, waiting.values())), dict(engine.reasoner.counts)))
        return learned

    method.replays._learn = note


async def score(method):
    history, targets = split_last(build_titled())
    return await method.score(history, ask_all(targets), 1)


async def test_methods_that_differ_in_the_asking_share_one_replay():
    live, off = build(["recnet", "recnet-off"])
    seen = []
    note_engines(live, seen)
    with_propagation, without = await score(live), await score(off)
    assert len(seen) == 1
    assert not np.array_equal(with_propagation, without)
    (alone,) = build(["recnet-off"])
    assert np.array_equal(await score(alone), without)


async def test_another_seed_or_history_is_replayed_anew():
    live, off = build(["recnet", "recnet-off"])
    seen = []
    note_engines(live, seen)
    history, targets = split_last(build_titled())
    await live.score(history, ask_all(targets), 1)
    await off.score(history, ask_all(targets), 2)
    shorter = dataclasses.replace(
        history,
        **{name: getattr(history, name)[:-5] for name in ("user", "item", "time", "event")},
    )
    await off.score(shorter, ask_all(targets), 2)
    assert len(seen) == 3


async def test_a_small_catalogue_with_texts_has_routers_and_rounds():
    (paper,) = build(["recnet-paper"])
    await score(paper)
    measured = paper.get_measured(1)
    assert measured.counts["rounds"] > 0
    assert measured.counts["routers"] > 1
    assert measured.counts["questions: backward"] == USERS * 5, "each known event, once"
    assert len(measured.series["routers"]) == 1 + -(-USERS * 5 // 16)


async def test_without_a_filter_memory_no_client_has_a_rule():
    full, without = [], []
    (paper,) = build(["recnet-paper"])
    note_engines(paper, full)
    await score(paper)
    (ablated,) = build(["recnet-no-filter-memory"])
    note_engines(ablated, without)
    await score(ablated)
    assert full[0][0] > 0
    assert without[0][0] == 0


async def test_without_a_buffer_messages_are_merged_after_each_round_and_none_waits():
    full, without = [], []
    (paper,) = build(["recnet-paper"])
    note_engines(paper, full)
    await score(paper)
    (ablated,) = build(["recnet-no-buffer"])
    note_engines(ablated, without)
    await score(ablated)
    assert full[0][1] > without[0][1]
    assert "merge" not in full[0][2]
    assert without[0][2]["merge"] > 0
    assert without[0][2]["backward"] == USERS * 5, "no interaction is reasoned twice"


@pytest.mark.slow
async def test_without_asynchronous_updates_a_round_runs_after_every_event():
    (eager,) = build(["recnet-no-async"])
    await score(eager)
    assert eager.get_measured(1).counts["rounds"] >= USERS * 5


def test_variants_differ_from_the_preset_as_their_names_say():
    plain = Settings().workflow
    paper = change_workflow(plain, PRESETS["paper"])
    assert (paper.taste.k, paper.policy, paper.evolve_every_rounds) == (20, "semantic", 1)
    assert plain.taste.k == 80, "the settings themselves are not changed"
    by_name = {
        name: change_workflow(paper, variant.settings)
        for name, variant in ENGINE_VARIANTS.items()
        if variant.preset
    }
    assert by_name["recnet-no-opt-router"].evolve_every_rounds is None
    assert by_name["recnet-no-opt-router"].filter_memory
    assert not by_name["recnet-no-fpo"].filter_memory
    assert by_name["recnet-no-fpo"].evolve_every_rounds is None
    assert [by_name[f"recnet-k{k}"].taste.k for k in (5, 10, 20, 40)] == [5, 10, 20, 40]
    same = ENGINE_VARIANTS["recnet-no-filter-memory"]
    assert ENGINE_VARIANTS["recnet-no-opt-filter-memory"] == same


@pytest.mark.parametrize("name", NUMBERS_VARIANTS)
async def test_scores_of_the_numbers_rank_as_the_evaluation_does(name):
    """N@10 from the scores is what the evaluation's own kernel computes in the same pass."""
    dataset = build_titled()
    history, targets = split_last(dataset)
    settings, embedder = EvaluationSettings(), HashedEmbedder(7)
    method = NumbersMethod(name, {}, dataset, NUMBERS_VARIANTS[name], embedder, settings)
    values = await LeaveOneOut().run(method, history, targets, 1)
    stream = build_stream(dataset)
    ranked = np.zeros(len(stream.user), np.bool_)
    ranked[np.setdiff1d(np.arange(len(ranked)), history.event)] = True
    order = np.concatenate([np.flatnonzero(~ranked), np.flatnonzero(ranked)])
    schedule = leave_one_out(stream, ranked)
    behind = len(stream.user)
    late = dataclasses.replace(
        schedule,
        **{
            column.name: np.concatenate(
                [
                    getattr(schedule, column.name)[:behind][order[: len(history.user)]],
                    getattr(schedule, column.name)[behind:],
                ]
            )
            for column in dataclasses.fields(schedule)
        },
    )
    found = run_pass(
        stream,
        late,
        await embedder.embed(stream.item_texts),
        await embedder.embed(stream.attribute_texts),
        settings,
        1,
        lambda _: None,
        {name: NUMBERS_VARIANTS[name]},
    )
    kernels = found.values[len(history.user) :, 0, N10]
    assert values["n10"] == pytest.approx(kernels, abs=1e-9)


def test_every_method_of_the_tables_can_be_built_or_is_named_as_missing():
    for experiment in EXPERIMENTS:
        built = (*experiment.methods, *experiment.with_model)
        for name in built:
            assert asks_model(name) or build([name])[0].name == name
        named = {name for rows in experiment.published.values() for name in rows}
        for name in named - {*built}:
            assert any(one.startswith(name) for one in experiment.missing), (experiment.name, name)
