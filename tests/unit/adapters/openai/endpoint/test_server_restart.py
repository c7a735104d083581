"""An evaluation outlives a server that is started again; one that never answered is told
at once."""

from types import SimpleNamespace
from unittest.mock import patch

import pytest

from propagation.evaluation.protocols import reasoner_ranking
from propagation.evaluation.protocols.reasoner_ranking import _retry_until_done
from propagation.model import ClientChange, ClientKey, ClientKind, ReasonerUnavailable
from propagation.workflow.read.reasoner_ranking import rerank
from propagation.workflow.read.recommend import Recommendations, Recommended
from services.fake_llm.script import Refused
from tests.unit.adapters.openai.test_server_habits import parties


class Away:
    """Refuses so many calls, then answers as ever."""

    def __init__(self, server, calls):
        self._answer = server._answer_chat
        self.left = calls

    async def __call__(self, *asked):
        self.left -= 1
        if self.left >= 0:
            raise Refused(503, "Loading model")
        await self._answer(*asked)


async def test_a_server_that_is_started_again_is_waited_for(open_reasoner, monkeypatch):
    monkeypatch.setattr(reasoner_ranking, "PATIENCE", (0.01, 0.02, 0.03))
    async with open_reasoner(attempts=1, cached_answers=0) as asked:
        engine = SimpleNamespace(reasoner=asked.reasoner)
        reader = parties()[0]
        with (
            patch.object(asked.server, "_answer_chat", Away(asked.server, 4)),
            pytest.raises(ReasonerUnavailable),
        ):
            await _retry_until_done(engine, lambda: asked.reasoner.merge(reader))
        await asked.reasoner.merge(reader)
        with patch.object(asked.server, "_answer_chat", Away(asked.server, 4)):
            assert (await _retry_until_done(engine, lambda: asked.reasoner.merge(reader))).edits
        with (
            patch.object(asked.server, "_answer_chat", Away(asked.server, 1_000)),
            pytest.raises(ReasonerUnavailable),
        ):
            await _retry_until_done(engine, lambda: asked.reasoner.merge(reader))


async def test_while_it_is_away_a_user_gets_the_numbers_and_an_evaluation_does_not(open_reasoner):
    keys = [
        ClientKey(kind=ClientKind.USER, id="u"),
        *(ClientKey(kind=ClientKind.ITEM, id=f"i{n}") for n in range(3)),
    ]
    async with open_reasoner(attempts=1) as asked:
        await asked.store.upsert_clients([ClientChange(key=key, title=key.id) for key in keys])
        found = Recommendations(
            [Recommended(f"i{n}", f"i{n}", 1.0 - n) for n in range(3)], 1, cold=False, unknown=()
        )
        of_u = (asked.store, asked.reasoner, 7, "u", found, None)
        with patch.object(asked.server, "_answer_chat", Away(asked.server, 1_000)):
            assert await rerank(*of_u) == found
            with pytest.raises(ReasonerUnavailable):
                await rerank(*of_u, raise_unavailable=True)
