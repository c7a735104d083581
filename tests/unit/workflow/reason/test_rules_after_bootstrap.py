"""After a bootstrap, a rule about an old router does not count for the new one of its number."""

from dataclasses import replace

import numpy as np
import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import ClientKey, ClientKind, FilterMemory, FilterRule, RouterMap
from propagation.workflow.read.recommend import RecommendRequest
from tests.unit.workflow.evolve.planted_communities import (
    STYLES,
    draw_events,
    make_engine,
    open_with_history,
    push,
)

RULED = f"{STYLES[0]}-0"


class Spy(OfflineReasoner):
    """Notes the filter rules with which clients are shown to it."""

    def __init__(self):
        super().__init__()
        self.seen = {"merge": set(), "backward": set(), "rank": set()}

    def note(self, call, *parties):
        self.seen[call].update(rule.text for one in parties for rule in one.filter_memory.rules)

    async def merge(self, party):
        self.note("merge", party)
        return await super().merge(party)

    async def backward(self, work, reward, user, positive, negative):
        self.note("backward", user)
        return await super().backward(work, reward, user, positive, negative)

    async def rank(self, user, candidates):
        self.note("rank", user)
        return await super().rank(user, candidates)


@pytest.fixture
async def spied_engine(tmp_path):
    reasoner = Spy()
    engine = make_engine(tmp_path / "graph.db", reasoner)
    await open_with_history(engine, STYLES[:2], 80)
    yield engine
    await engine.close()


async def find_ref(engine):
    [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.USER, id=RULED)])
    return ref


async def write_rules(engine):
    """Give the user one rule about each router; return the user's ref."""
    ref = await find_ref(engine)
    text = (await engine.store.load_texts([ref]))[ref]
    sequence = await engine.store.get_recorded_through()
    rules = tuple(
        FilterRule(router=router, factor=0.9, text=f"Old rule {router}.", age=sequence)
        for router in (0, 1)
    )
    profile = replace(text.profile, version=text.profile.version + 1)
    ruled = replace(text, profile=profile, filter_memory=FilterMemory(rules))
    await engine.store.commit_texts([ruled], [], sequence)
    return ref


async def use_rules(engine, seed):
    """Merge, reason and rank for the user; return the texts of old rules that were used."""
    for noted in engine.reasoner.seen.values():
        noted.clear()
    ref = await find_ref(engine)
    await push(engine, draw_events(STYLES[:2], 40, seed=seed, users=1))
    engine.recommender.texts.forget([ref])
    found = await engine.recommend(RecommendRequest(RULED, 5))
    await engine.rerank(RULED, found, None)
    await engine.profile_reader.read_merged(ref)
    noted = engine.reasoner.seen
    return {call for call in noted if any(rule.startswith("Old rule") for rule in noted[call])}


async def test_rules_of_before_a_bootstrap_are_shown_to_no_reasoner(spied_engine):
    ref = await write_rules(spied_engine)
    assert {"backward", "rank"} <= await use_rules(spied_engine, 2)
    await write_rules(spied_engine)
    await spied_engine.init()
    stored = (await spied_engine.store.load_texts([ref]))[ref].filter_memory.rules
    assert any(rule.text.startswith("Old rule") for rule in stored)
    assert await use_rules(spied_engine, 3) == set()
    stored = (await spied_engine.store.load_texts([ref]))[ref].filter_memory.rules
    assert not any(rule.text.startswith("Old rule") for rule in stored), "the next version lost it"


async def test_rules_of_before_a_bootstrap_weigh_no_router(spied_engine):
    ref = await write_rules(spied_engine)
    recommender = spied_engine.recommender
    recommender.texts.forget([ref])
    assert (await recommender.factors(await recommender.texts.get(ref))).tolist() == [0.9, 0.9]
    await spied_engine.init()
    recommender.texts.forget([ref])
    assert await recommender.factors(await recommender.texts.get(ref)) is None


async def test_an_evolution_moves_no_rule_of_before_a_bootstrap(spied_engine):
    ref = await write_rules(spied_engine)
    merge = RouterMap(0, 0, 0, 1, np.array([0, 0]), 2, np.zeros((2, 2), np.float32))
    follow = spied_engine.evolution.publisher._follow_rules
    [moved] = [text for text in await follow(merge, None) if text.profile.ref == ref]
    assert [rule.router for rule in moved.filter_memory.rules] == [0]
    await spied_engine.init()
    [dropped] = [text for text in await follow(merge, None) if text.profile.ref == ref]
    assert dropped.filter_memory.rules == ()
