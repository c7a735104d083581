"""Lines of an item that only one other user supports stay hidden.

A model that writes a user's lines does not read them.
"""

import pytest

from propagation.adapters.openai.prompting import Letters, TextCheck
from propagation.adapters.openai.prompting.profile_edits import EditAnswer, build_own_edits
from propagation.model import Author, ClientChange, Line, Profile, Source
from services.assembly import build_engine
from services.config.settings import Settings
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from tests.unit.workflow.small_database import SMALL, event, item_key, open_engine

SECRET = "wuggawugga"
ONLY = 77


@pytest.mark.parametrize("fused", [True, False])
async def test_a_prompt_on_one_users_choice_names_nothing_that_one_other_showed(tmp_path, fused):
    async with fake_llm(Script(latency=0.0)) as server:
        settings = Settings(
            store="sqlite",
            database=tmp_path / "graph.db",
            reasoner="openai",
            reasoning_in="loop",
            openai={"base_url": server.base_url, "model": "scripted", "fused": fused},
            workflow=SMALL,
        )
        async with open_engine(build_engine(settings)) as engine:
            await engine.upsert_clients([ClientChange(key=item_key(ONLY), attributes=(SECRET,))])

            async def choose(user, *items):
                for item in items:
                    drawn = item_key(3).id
                    await engine.record([event(1_000 * user + item, user, item, negative_id=drawn)])
                    await engine.drain()

            await choose(1, ONLY, 0, 4, 8)
            texts = await engine.store.load_texts(
                await engine.store.find_refs([item_key(n) for n in (0, 4, 8)])
            )
            assert SECRET in str(texts), "the first user's taste is in the items' lines"
            before = len(server.seen.prompts)
            await choose(2, 0, 4, 8)
            assert len(server.seen.prompts) > before
            told = [one for one in server.seen.prompts[before:] if SECRET in one]
            writing = [one for one in told if '"client_is":"user"' in one or '"chosen":' in one]
            assert writing == []


def test_a_new_line_takes_the_place_of_a_hidden_one_like_it():
    old = Line(
        id=3,
        text="Pleases jazz lovers.",
        attributes=("jazz", "soul"),
        author=Author.INTERACTION,
        sources=(Source(sequence=5),),
    )
    profile = Profile(ref=1, version=1, lines=(old,), next_id=4)

    def build_edit(*attributes):
        answer = EditAnswer(op="add", line=0, text="Pleases many.", attributes=list(attributes))
        (edit,) = build_own_edits(profile, [answer], Letters(()), 9, TextCheck(), {3})
        return edit.line.id, [source.sequence for source in edit.line.sources]

    assert build_edit("jazz") == (3, [5, 9])
    assert build_edit("jazz", "opera", "folk") == (0, [9])


def test_what_one_user_brought_to_a_line_does_not_rest_on_the_users_before():
    shown = Line(
        id=3,
        text="Drawn to quartet and rain.",
        attributes=("quartet", "rain", "trio"),
        author=Author.INTERACTION,
        sources=(Source(sequence=5), Source(sequence=6)),
    )
    known = [SECRET, "quartet", "rain", "trio", "jazz"]

    def build_edit(ref, op, text, *attributes, hidden=()):
        profile = Profile(ref=ref, version=1, lines=(shown,), next_id=4)
        answer = EditAnswer(op=op, line=1, text=text, attributes=list(attributes))
        (edit,) = build_own_edits(profile, [answer], Letters(()), 9, TextCheck(), hidden, known)
        return edit.line.id, [source.sequence for source in edit.line.sources]

    item, user = 1, 2
    attributes = ("quartet", "rain")
    for text in (f"Drawn to {SECRET} and rain.", "Drawn to rain, as in “Wugga Tapes”."):
        assert build_edit(item, "replace", text, *attributes) == (0, [9])
        assert build_edit(item, "add", text, *attributes, hidden={3}) == (0, [9])
        assert build_edit(user, "replace", text, *attributes) == (3, [5, 6, 9])
    assert build_edit(item, "replace", "Drawn to rain.", SECRET, *attributes) == (0, [9])
    assert build_edit(item, "replace", "Drawn to rain.", *attributes) == (3, [5, 6, 9])
