"""Routers' texts that the model does not write usably, or is not asked for."""

from dataclasses import replace

import pytest

from propagation.adapters.fallback.router_texts import ASKED_AGAIN_EVERY, DelegatedRouterTexts
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import ReasonerFailed, ReasonerUnavailable
from propagation.ports import Integration, SummarizeAnswer, Summary
from tests.unit.parties import message

OFFLINE = OfflineReasoner().name
MARK = f"summarize:{OFFLINE}"


class Writer(OfflineReasoner):
    """Writes the texts of even routers alone, as a model does that often fails."""

    name = router_writer = "openai:small"
    router_batch_size = 100

    def __init__(self):
        super().__init__()
        self.asked = []

    async def summarize(self, routers):
        self.asked += [one.router for one in routers]
        return SummarizeAnswer(
            [
                Summary("odd", "A text of the model's own")
                if one.router % 2 == 0
                else ReasonerFailed("no")
                for one in routers
            ]
        )


def router(number, *, version=None, written_by=""):
    before = version and replace(message(number, "jazz"), version=version, written_by=written_by)
    return Integration(number, before, {"soul": 2}, {"jazz": 3.0}, {}, ["Tosca"])


async def test_a_text_that_is_not_usable_is_written_by_the_other_one_and_marked():
    model = Writer()
    reasoner = DelegatedRouterTexts(model, OfflineReasoner(), asks_first=True)
    routers = [router(number) for number in range(4)]
    answer = await reasoner.summarize(routers)
    offline = (await OfflineReasoner().summarize(routers)).summaries
    assert model.asked == [0, 1, 2, 3]
    assert [one.written_by for one in answer.summaries] == ["", MARK, "", MARK]
    assert [answer.summaries[n].text for n in (1, 3)] == [offline[n].text for n in (1, 3)]
    assert answer.summaries[0].text == "A text of the model's own"
    assert (reasoner.router_writer, reasoner.router_batch_size) == ("openai:small", 100)


async def test_a_router_whose_text_was_not_usable_is_asked_for_at_every_fourth_version_only():
    model = Writer()
    reasoner = DelegatedRouterTexts(model, OfflineReasoner(), asks_first=True)
    for version in range(1, 13):
        answer = await reasoner.summarize([router(1, version=version, written_by=MARK)])
        assert answer.summaries[0].written_by == MARK
    assert len(model.asked) == 12 / ASKED_AGAIN_EVERY
    answer = await reasoner.summarize([router(2, version=3, written_by=MARK)])
    assert answer.summaries[0].written_by == "", "it is asked again, and the text is its own"
    model.asked.clear()
    for version in range(1, 13):
        await reasoner.summarize([router(2, version=version, written_by="summarize@3")])
    assert len(model.asked) == 12, "a model whose texts are usable is always asked"


async def test_a_model_that_is_not_to_be_asked_is_asked_for_nothing():
    model = Writer()
    reasoner = DelegatedRouterTexts(model, OfflineReasoner(), asks_first=False)
    answer = await reasoner.summarize([router(number, version=3) for number in range(3)])
    assert {one.written_by for one in answer.summaries} == {MARK}
    assert not model.asked
    assert (reasoner.router_writer, reasoner.router_batch_size) == (OFFLINE, 1)
    assert reasoner.name == "openai:small"


async def test_while_the_model_is_away_the_round_waits():
    class Away(Writer):
        async def summarize(self, routers):
            raise ReasonerUnavailable("away")

    reasoner = DelegatedRouterTexts(Away(), OfflineReasoner(), asks_first=True)
    with pytest.raises(ReasonerUnavailable):
        await reasoner.summarize([router(1)])


async def test_refused_answers_of_an_endpoint_are_replaced_and_their_cost_is_kept(open_reasoner):
    async with open_reasoner(faults={"refusal": 1.0}) as asked:
        reasoner = DelegatedRouterTexts(asked.reasoner, OfflineReasoner(), asks_first=True)
        answer = await reasoner.summarize([router(number) for number in range(3)])
        assert {one.written_by for one in answer.summaries} == {MARK}
        assert (answer.usage.total.calls, answer.usage.total.lost) == (2, 3)
        assert asked.calls == 2
