"""Propagation from client to client: whom it reaches, what is sent, and what is asked for it."""

import numpy as np
import pytest

from propagation.laboratory.methods.recnet.point_to_point import (
    Content,
    OfflineAnswers,
    PointToPoint,
    Way,
)
from propagation.laboratory.methods.recnet.point_to_point.message import (
    send_profile,
    send_summary,
)
from propagation.laboratory.protocols.last_events import split_last
from propagation.model import (
    Author,
    Client,
    ClientKey,
    ClientKind,
    FilterMemory,
    Line,
    Profile,
    ReasonerFailed,
    Source,
)
from propagation.ports import Party
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.laboratory.methods import build_methods
from tests.unit.laboratory.lab_data import EACH, USERS, build_titled
from tests.unit.laboratory.test_lab_methods import ask_all

KNOWN = USERS * (EACH - 1)
CHANGED = 2 * KNOWN - USERS
"""The user and the item of each event; an item learns nothing of a user's first one."""


def build_line(id_, text, *attributes, at=None, author=Author.INTERACTION, weight=1.0):
    sources = () if at is None else (Source(sequence=at),)
    return Line(id_, text, attributes, weight, sources, author)


PROFILE = Profile(
    ref=8,
    version=3,
    lines=(
        build_line(1, "A record.", "vinyl", author=Author.CATALOGUE),
        build_line(2, "Likes jazz.", "jazz", at=4, weight=3.0),
        build_line(3, "Heard of folk.", "folk", author=Author.RECEPTION),
        build_line(4, "Turned to soul.", "soul", "jazz", at=9),
    ),
)


def build_party(ref, *attributes):
    profile = Profile(ref=ref, version=1, lines=(build_line(1, "A line.", *attributes),))
    client = Client(ref=ref, key=ClientKey(kind=ClientKind.ITEM, id=f"i{ref}"))
    return Party(client=client, profile=profile, filter_memory=FilterMemory())


def test_a_whole_profile_begins_with_the_newest_choice():
    message = send_profile(PROFILE)
    assert message.text == "Turned to soul. Likes jazz. A record. Heard of folk."
    assert message.attributes == ("soul", "jazz", "vinyl", "folk")
    assert (message.router, message.version, message.name) == (8, 3, "jazz and vinyl")


def test_a_summary_has_the_attributes_that_it_names():
    assert send_summary(PROFILE, "More soul now, and folk.").attributes == ("soul", "folk")
    assert send_summary(PROFILE, "Something new.").attributes == ("soul", "jazz", "vinyl", "folk")


async def test_offline_selection_is_by_shared_attributes_then_by_nearness():
    sender = build_party(0, "jazz", "vinyl", "soul")
    nearest = [
        build_party(2, "folk"),
        build_party(4, "jazz"),
        build_party(6, "jazz", "soul"),
        build_party(8, "vinyl"),
    ]
    assert await OfflineAnswers().select(sender, nearest, 3) == [2, 1, 3]


async def test_an_offline_summary_is_of_the_newest_lines():
    party = Party(
        client=Client(ref=8, key=ClientKey(kind=ClientKind.USER, id="u4")),
        profile=PROFILE,
        filter_memory=FilterMemory(),
    )
    assert await OfflineAnswers().summarize(party, ()) == "Turned to soul. Likes jazz."


class Learned:
    """What an engine holds when a method's replay has learned."""

    def __init__(self, method):
        self._learn = method.replays._learn
        self.learned = []
        method.replays._learn = self._note

    async def _note(self, engine, plan, events):
        learned = await self._learn(engine, plan, events)
        refs = await engine.store.find_refs([one.key for one in build_titled().clients])
        self.texts = await engine.store.load_texts(refs)
        self.last_round = await engine.store.get_last_round()
        return learned

    def list_heard(self):
        return [
            (ref, line)
            for ref, text in self.texts.items()
            for line in text.profile.lines
            if line.author is Author.RECEPTION
        ]


async def learn(name):
    (method,) = build_methods([name], build_titled(), Settings(), check_events)
    learned = Learned(method)
    history, targets = split_last(build_titled())
    scores = await method.score(history, ask_all(targets), 1)
    return scores, learned, method.get_measured(1).counts


async def test_changed_clients_send_to_the_nearest_who_merge_at_once():
    _, learned, counts = await learn("recnet-em")
    assert learned.last_round is None, "no router sends anything"
    assert counts["rounds"] == 0
    # Of passed items, those that heard something may change, too.
    assert CHANGED * 3 <= counts["messages"] <= (CHANGED + KNOWN) * 3
    assert 0 < counts["questions: merge"] <= counts["messages"]
    assert counts["questions: backward"] == KNOWN, "no interaction is reasoned twice"
    assert counts["questions"] == sum(
        counts[f"questions: {name}"] for name in ("extract", "forward", "backward", "merge")
    )
    heard = learned.list_heard()
    assert heard
    assert all(
        one.router is not None and one.router != ref for ref, line in heard for one in line.sources
    ), "nobody hears of itself"


async def test_without_a_way_of_sending_nobody_hears_anything():
    alone, learned, counts = await learn("recnet-alone")
    assert learned.list_heard() == []
    assert "messages" not in counts
    sent, _, _ = await learn("recnet-em")
    assert not np.array_equal(alone, sent), "what is heard changes the ranking"


@pytest.mark.slow
async def test_what_each_way_asks_for():
    _, _, em = await learn("recnet-em")
    _, _, selected = await learn("recnet-em-lr")
    _, _, together = await learn("recnet-em-lr-ls")
    _, _, each = await learn("recnet-no-router")
    select, write = "questions: select receivers", "questions: write to clients"
    assert [one.get(select, 0) * 3 for one in (em, each)] == [0, 0]
    assert selected[select] * 3 == selected["messages"]
    assert write not in em
    assert write not in selected
    assert together[write] == together[select] == together["messages"] / 3
    assert each[write] == each["messages"]


@pytest.mark.slow
async def test_an_equal_run_gives_equal_scores():
    first, _, counts = await learn("recnet-em-lr-ls")
    second, _, again = await learn("recnet-em-lr-ls")
    assert np.array_equal(first, second)
    seconds = {"learning seconds": 0.0}
    assert {**counts, **seconds} == {**again, **seconds}


class Failing(OfflineAnswers):
    """Gives no usable answer to one of the questions."""

    def __init__(self, fails):
        self.fails = fails

    async def select(self, sender, nearest, count):
        if self.fails == "select":
            raise ReasonerFailed("not usable")
        return await super().select(sender, nearest, count)

    async def summarize(self, sender, receivers):
        if self.fails == "summarize":
            raise ReasonerFailed("not usable")
        return await super().summarize(sender, receivers)


@pytest.mark.parametrize("fails", ["select", "summarize"])
async def test_a_change_without_a_usable_answer_reaches_nobody_and_is_counted(fails):
    (method,) = build_methods(["recnet-em-lr-ls"], build_titled(), Settings(), check_events)
    way = Way(selects=True, content=Content.SUMMARY)
    plan = method.plan
    object.__setattr__(
        plan, "send_between_clients", lambda engine: PointToPoint(engine, way, Failing(fails))
    )
    learned = Learned(method)
    history, targets = split_last(build_titled())
    await method.score(history, ask_all(targets), 1)
    counts = method.get_measured(1).counts
    assert learned.list_heard() == []
    assert counts["lost messages"] == CHANGED * 3
    assert "messages" not in counts
