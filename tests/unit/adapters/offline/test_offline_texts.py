"""What people read: lines within 25 words, messages within 60, in words, from whatever a catalogue
holds."""

from dataclasses import replace

import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import TITLE, Profile
from propagation.ports import Integration, Party
from tests.unit.parties import USER, item, line, message, party, profile, user, work

FILMS = [
    ("Vertigo (1958)", ("film-noir", "mystery")),
    ("Third Man, The (1949)", ("film-noir", "thriller")),
    ("Big Sleep, The (1946)", ("film-noir", "mystery")),
    ("Toy Story (1995)", ("animation", "children's")),
]


def build_text(read):
    return "\n".join(one.text for one in read.lines)


async def build_profile(films, times):
    """A user's profile after so many choices, the films in turn."""
    reasoner = OfflineReasoner()
    now = Profile(ref=USER)
    for number in range(times):
        title, categories = films[number % len(films)]
        one = Party(client=user(), profile=now, filter_memory=party(user()).filter_memory)
        step = replace(work(), sequence=number + 1)
        answer = await reasoner.optimize(
            step, 1, one, party(item(title=title, categories=categories))
        )
        now = now.apply_edits(answer.edits, 12)
    return now


async def test_after_fifty_films_the_taste_is_on_top_and_every_line_is_short_and_sourced():
    read = await build_profile(FILMS[:3] * 5 + FILMS[3:], 50)
    assert "film-noir" in read.lines[0].text
    assert "animation" in read.lines[-1].text
    assert "“The Third Man (1949)”" in build_text(read)
    assert all(len(one.text.split()) <= 25 and one.sources for one in read.lines)
    assert len({one.text.split()[0] for one in read.lines}) > 1 or len(read.lines) == 1


@pytest.mark.parametrize(
    "thing",
    [
        item(title="", categories=()),
        item(title="", categories=("jazz",)),
        item(title="Kind of Blue", categories=()),
        item(title="x " * 400, categories=("y " * 40,)),
        item(title="七人の侍", categories=("時代劇",)),
    ],
)
async def test_no_id_no_overlong_line_whatever_the_catalogue_holds(thing):
    reasoner = OfflineReasoner()
    [edits] = (await reasoner.extract([thing])).edits
    described = profile(thing.ref).apply_edits(edits, 12)
    answer = await reasoner.optimize(
        work(),
        1,
        party(user()),
        Party(client=thing, profile=described, filter_memory=party(thing).filter_memory),
    )
    text = f"{build_text(described)}\n{build_text(Profile(ref=USER).apply_edits(answer.edits, 12))}"
    assert "4711" not in text
    assert "0815" not in text
    assert all(len(one.split()) <= 25 for one in text.splitlines())


async def test_the_choice_of_a_wordless_item_says_nothing_of_what_others_who_chose_it_like():
    wordless = Party(
        client=item(title="", categories=()),
        profile=profile(item().ref, line(1, "jazz")),
        filter_memory=party(user()).filter_memory,
    )
    answer = await OfflineReasoner().optimize(work(), 1, party(user()), wordless)
    assert "jazz" not in build_text(Profile(ref=USER).apply_edits(answer.edits, 12))


async def test_what_others_said_reads_as_such():
    answer = await OfflineReasoner().merge(
        party(user(), messages=(message(1, "ska"), message(2, "folk"), message(3, "dub")))
    )
    texts = [edit.line.text for edit in answer.edits]
    assert len({text.split()[0] for text in texts}) > 1
    assert all("soul and funk" in text for text in texts)


async def test_a_reader_hears_what_the_message_says_and_no_more():
    text = (
        f"A community drawn to soul and funk{' again' * 30}. Lately it looks to ska and "
        "parties. Seen around “Dub Me”."
    )
    said = message(1, "polka", "dub", "part", "ska", text=text)
    [edit] = (await OfflineReasoner().merge(party(user(), messages=(said,)))).edits
    assert edit.line.attributes == ("ska",)


async def test_a_community_is_not_said_to_discover_what_it_is_named_by():
    [edit] = (await OfflineReasoner().merge(party(user(), messages=(message(1, "funk"),)))).edits
    assert edit.line.attributes == ("funk",)
    assert edit.line.text.count("funk") == 1


async def test_a_router_turns_to_what_it_did_not_stand_for():
    arrived, standing = (
        {"comedy": 3, "sci-fi": 2},
        {"comedy": 20.0, "romance": 10.0, "sci-fi": 2.0, "war": 3.0, "crime": 3.0},
    )
    [summary] = (
        await OfflineReasoner().summarize([Integration(1, None, arrived, standing, {}, [])])
    ).summaries
    assert all(summary.text.count(name) == 1 for name in ("comedy", "sci-fi"))


async def test_every_title_that_a_line_cites_bears_it_out():
    films = [
        ("Heat (1995)", ("action", "mystery", "sci-fi")),
        ("Dawn (1996)", ("action", "sci-fi", "war")),
        ("Noon (1997)", ("action", "sci-fi", "western")),
        ("Dusk (1998)", ("romance", "drama")),
    ]
    genres = {title: set(categories) for title, categories in films}
    read = await build_profile(films, 40)
    cited = [(one, title) for one in read.lines for title in TITLE.findall(one.text)]
    assert len(cited) >= len(films)
    assert all(set(one.attributes) <= genres[title] for one, title in cited)


async def test_two_communities_with_the_same_favourite_are_told_apart():
    common = {"drama": 0.5, "comedy": 0.3, "film-noir": 0.1, "war": 0.1}
    reasoner = OfflineReasoner()
    standing = {"drama": 50.0, "comedy": 20.0}
    noir, war = (
        await reasoner.summarize(
            [
                Integration(
                    1, None, {"drama": 3}, standing | {"film-noir": 40.0}, common, ["M (1931)"]
                ),
                Integration(2, None, {"drama": 3}, standing | {"war": 40.0}, common, []),
            ]
        )
    ).summaries
    assert noir.text.startswith("A community drawn to film-noir")
    assert war.text.startswith("A community drawn to war")
    assert "“M (1931)”" in noir.text
    assert len(noir.text.split()) <= 60
