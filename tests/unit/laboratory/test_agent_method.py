"""The studies of agents take any method that has them, not AgentCF only."""

import numpy as np
import pytest

from propagation.laboratory.agentcf.studies.advertisements import Advertisements
from propagation.laboratory.agentcf.studies.cold_items import ColdItems
from propagation.laboratory.agentcf.studies.reviews import Reviews
from propagation.laboratory.agentcf.studies.spread import Spread
from propagation.laboratory.methods import Popularity
from tests.unit.laboratory.planted_agentcf import ScriptedAsk, build_agentcf, build_titled_dataset
from tests.unit.laboratory.test_agentcf_advertisements import Advertising
from tests.unit.laboratory.test_agentcf_spread import Carrying


class Answering(Carrying, Advertising):
    """Answers the prompts of all studies."""


class Wrapped:
    """A method that is no AgentCF, and has the agents of one."""

    def __init__(self, method):
        self.method = method

    def __getattr__(self, name):
        return getattr(self.method, name)


@pytest.mark.parametrize("study", [Reviews(), ColdItems(), Spread(), Advertisements()])
async def test_any_method_with_agents_can_be_studied(study):
    dataset = build_titled_dataset(40, each=3)
    history, targets = study.split(dataset)
    own, wrapped = (
        wrap(build_agentcf(dataset, ScriptedAsk(Answering(right=1.0))))
        for wrap in (lambda method: method, Wrapped)
    )
    expected = await study.run(own, history, targets, 1)
    found = await study.run(wrapped, history, targets, 1)
    for name, values in expected.items():
        assert np.array_equal(found[name], values, equal_nan=True)
    calls = study.estimate(wrapped, history, targets, 1)
    assert calls == study.estimate(own, history, targets, 1) != []
    assert study.estimate(Popularity(), history, targets, 1) == []
