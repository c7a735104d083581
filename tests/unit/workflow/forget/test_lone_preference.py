"""A preference of one user alone is not passed on.

Nothing stays of the attributes that a forgotten user brought.
"""

from dataclasses import replace
from itertools import product

import pytest

from propagation.model import (
    Author,
    CitationSearch,
    ClientChange,
    ClientKind,
    EvolutionChange,
    EvolutionKind,
    EvolutionRun,
    FilterMemory,
    FilterRule,
    MessageMerge,
    Module,
    get_kind,
)
from propagation.ports import POSTPONED_ARRIVALS
from propagation.routing import Arrival, PostponedArrivals
from tests.unit.workflow.small_database import (
    ITEMS,
    STORES,
    event,
    find_in_rows,
    item_key,
    make_engine,
    open_engine,
    read_texts,
    record_history,
    user_key,
)

SECRET, TITLE = "wuggawugga", "The Wugga Tapes"
LONER, FRIEND = 40, 41
ONLY, WORDLESS = ITEMS + 1, ITEMS + 2


@pytest.fixture(params=STORES)
async def engine(tmp_path, request):
    async with open_engine(make_engine(tmp_path, request.param)) as engine:
        await engine.upsert_clients(
            [ClientChange(key=item_key(ONLY), title=TITLE, attributes=(SECRET,))]
        )
        yield engine


async def choose(engine, start, users, items):
    """Let the users choose the items, with a round after each event."""
    for place, (user, item) in enumerate((user, item) for item in items for user in users):
        await engine.record([event(start + place, user, item)])
        await engine.drain()
        await engine.run_round()


async def find_ref(engine, key):
    return (await engine.store.find_refs([key]))[0]


async def read_all_messages(engine):
    """Load every version of every router."""
    numbers = await engine.store.get_version_numbers(engine.vectors.routers)
    return [
        await engine.store.get_router_version(router, version)
        for router, number in numbers.items()
        for version in range(1, number + 1)
    ]


async def find_mentions(engine, *words):
    """List messages, and lines of other clients, with one of the words.

    Of other items, only lines from reception count.
    """
    own = [await find_ref(engine, key) for key in (user_key(LONER), item_key(ONLY))]
    found = [
        f"router {message.router} version {message.version}: {message.text}"
        for message in await read_all_messages(engine)
        if any(
            word in str((message.name, message.text, message.attributes, message.standing))
            for word in words
        )
    ]
    return found + [
        f"{get_kind(ref).name} {ref} ({line.author}): {line.text}"
        for ref, text in (await read_texts(engine)).items()
        if ref not in own
        for line in text.profile.lines
        if get_kind(ref) == ClientKind.USER or line.author is Author.RECEPTION
        if any(word in line.text or word in line.attributes for word in words)
    ]


async def test_one_user_does_not_pass_the_support(engine):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER], [ONLY, 0, 4, ONLY, 8, 1])
    await record_history(engine, 2, 60)
    assert await find_mentions(engine, SECRET, TITLE) == []


async def test_it_does_not_pass_by_an_item_that_says_nothing_of_itself(engine):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER], [ONLY, WORDLESS])
    await choose(engine, 9_100, [FRIEND], [WORDLESS])
    await record_history(engine, 2, 60)
    assert await find_mentions(engine, SECRET, TITLE) == []


async def test_two_users_pass_it(engine):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, 4])
    await record_history(engine, 2, 60)
    assert any("router" in found for found in await find_mentions(engine, SECRET))


@pytest.mark.parametrize("store", STORES)
async def test_a_bootstrap_does_not_name_the_item_of_one_user(tmp_path, store):
    async with open_engine(make_engine(tmp_path, store)) as engine:
        await engine.upsert_clients(
            [ClientChange(key=item_key(ONLY), title=TITLE, attributes=(SECRET,))]
        )
        await choose(engine, 9_000, [LONER], [ONLY, 3])
        await engine.init()
        await engine.drain()
        await engine.run_round()
        assert await find_mentions(engine, SECRET, TITLE) == []


@pytest.mark.parametrize("friends", [(), (FRIEND,)])
async def test_nothing_rests_on_a_forgotten_user(engine, friends):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, *friends], [ONLY, 0, 4, 8])
    await record_history(engine, 2, 60)
    ref = await find_ref(engine, user_key(LONER))
    erased = {row.sequence for row in await engine.store.get_interactions_of_clients([ref])}
    await engine.forget(user_key(LONER))
    parts = [
        (message.router, message.version, part)
        for message in await read_all_messages(engine)
        for part in message.integrated
        if part.ref == ref or part.sequence in erased
    ]
    lines = [
        (owner, line.text)
        for owner, text in (await read_texts(engine)).items()
        for line in text.profile.lines
        if erased & {source.sequence for source in line.sources}
    ]
    assert (parts, lines) == ([], [])
    friend = await find_ref(engine, user_key(FRIEND))
    others = [
        one for one in await find_mentions(engine, SECRET, TITLE) if f"USER {friend} " not in one
    ]
    assert "\n".join(others) == ""


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_of_a_lone_preference_only_the_catalogue_is_left(engine):
    """A gradient may name it, too: the item may be a negative."""
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER], [ONLY, 0, 4, 8])
    await engine.forget(user_key(LONER))
    allowed = (
        "client",
        "client_word",
        "profile_version",
        "attribute",
        "held",
        "point",
        "gradient",
    )
    assert [
        one
        for one in await find_in_rows(engine, [SECRET])
        if not any(f"in {table}:" in one for table in allowed)
    ] == []


async def find_quotations(engine, title):
    """List messages, and lines that came from messages, that have a title."""
    found = [
        f"router {message.router} version {message.version}"
        for message in await read_all_messages(engine)
        if title in message.text
    ]
    return found + [
        line.text
        for text in (await read_texts(engine)).values()
        for line in text.profile.lines
        if line.author is Author.RECEPTION and title in line.text
    ]


@pytest.mark.parametrize("others", [1, 2])
async def test_a_title_leaves_messages_with_the_second_user_who_chose_it(engine, others):
    await engine.upsert_clients(
        [ClientChange(key=item_key(ONLY), title=TITLE, attributes=("jazz",))]
    )
    await record_history(engine, 1, 60)
    users = [LONER, FRIEND, FRIEND + 1][: 1 + others]
    await choose(engine, 9_000, users, [ONLY, 0, 4, ONLY])
    assert await find_quotations(engine, TITLE)
    await engine.forget(user_key(LONER))
    assert bool(await find_quotations(engine, TITLE)) == (others >= 2)


async def test_what_was_held_back_travels_once_a_second_user_holds_it(engine):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER], [ONLY])
    await choose(engine, 9_500, [FRIEND], [ONLY])
    senders = {
        part.ref
        for message in await read_all_messages(engine)
        for part in message.integrated
        if part.attribute == SECRET
    }
    assert senders >= {await find_ref(engine, user_key(user)) for user in (LONER, FRIEND)}


async def test_reasons_of_evolutions_lose_what_nobody_else_holds(engine):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER], [ONLY, 0, 4])
    reasons = (f"one chose {SECRET}, the other jazz", "both chose jazz")
    await engine.store.save_evolution(
        EvolutionRun(
            changes=tuple(
                EvolutionChange(kind=EvolutionKind.REWRITE, before=(n,), after=(n,), reason=reason)
                for n, reason in enumerate(reasons)
            )
        )
    )
    await engine.forget(user_key(LONER))
    (run,) = await engine.store.get_evolution_runs(5)
    assert [change.reason for change in run.changes] == ["", "both chose jazz"]


async def test_arrivals_that_wait_lose_a_forgotten_user_with_the_commit(engine):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY])
    ref, friend = [await find_ref(engine, user_key(user)) for user in (LONER, FRIEND)]
    rows = await engine.store.get_interactions_of_clients([ref])
    waiting = PostponedArrivals(
        engine.numbers.view.epoch,
        {
            0: [
                Arrival("jazz", ref, 1, 0),
                Arrival("jazz", rows[0].item, 1, rows[0].sequence),
                Arrival("jazz", friend, 1, 0),
                Arrival(SECRET, friend, 1, 0),
            ]
        },
    )
    await engine.store.put_blob(POSTPONED_ARRIVALS, waiting.pack())
    await engine.forget(user_key(LONER))
    left = PostponedArrivals.unpack(await engine.store.get_blob(POSTPONED_ARRIVALS))
    assert [arrival.ref for arrival in left.groups[0]] == [friend, friend]
    await engine.run_round()
    current = await engine.store.get_router_version(
        0, (await engine.store.get_version_numbers([0]))[0]
    )
    brought = {part.attribute for part in current.integrated if part.ref == friend}
    assert brought == {"jazz"}, f"{SECRET} has one holder left"


async def test_what_two_users_brought_leaves_with_both(engine):
    """One user's events are retracted, and the other user is forgotten.

    Only the item's own text is left.
    """
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, 4, ONLY])
    assert any("router" in found for found in await find_mentions(engine, SECRET))
    mine = await engine.store.get_interactions_of_clients(
        [await find_ref(engine, user_key(FRIEND))]
    )
    await engine.retract([row.event_id for row in mine])
    await engine.forget(user_key(LONER))
    assert await find_mentions(engine, SECRET) == []
    rules = [
        rule.text
        for text in (await read_texts(engine)).values()
        for rule in text.filter_memory.rules
    ]
    assert not any(SECRET in text for text in rules)


@pytest.mark.parametrize("way", ["forget", "retract"])
async def test_routers_do_not_stand_for_it_in_later_rounds(engine, way):
    """A router's weight of an attribute outlives the round that brought it.

    The item's own text brings it, too, once enough users hold it: one item is too few.
    """
    await record_history(engine, 1, 60)
    assert await find_mentions(engine, SECRET) == []
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, 4, ONLY])
    await record_history(engine, 2, 60)
    for user in (LONER, FRIEND):
        if way == "forget":
            await engine.forget(user_key(user))
        else:
            mine = await engine.store.get_interactions_of_clients(
                [await find_ref(engine, user_key(user))]
            )
            await engine.retract([row.event_id for row in mine])
    await record_history(engine, 3, 60)
    assert await find_mentions(engine, SECRET) == []


async def test_one_user_is_left_who_has_it_of_an_item_like_others(engine):
    """Enough items have the attribute, but they brought it to other routers."""
    shared = [ONLY, ONLY + 1, ONLY + 2]
    await engine.upsert_clients(
        [ClientChange(key=item_key(n), title=f"Tape {n}", attributes=(SECRET,)) for n in shared]
    )
    await engine.drain()
    await engine.run_round()
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, FRIEND], [0, 4, 8, ONLY, ONLY + 1])
    await engine.forget(user_key(LONER))
    friend = await find_ref(engine, user_key(FRIEND))
    messages = await read_all_messages(engine)
    parts = [part for one in messages for part in one.integrated if part.attribute == SECRET]
    assert parts, "what the catalogue brought stays"
    assert {part.sequence for part in parts} == {0}, "one user is too few"
    public = {one.router for one in messages for part in one.integrated if part in parts}
    named = {one.router for one in messages if SECRET in str((one.standing, one.text, one.name))}
    assert named <= public
    assert not [part for part in parts if part.ref == friend]


async def test_others_gradients_and_traces_lose_what_messages_lose(engine):
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, 4, ONLY])
    await record_history(engine, 2, 60)
    friend = await find_ref(engine, user_key(FRIEND))

    async def find_gradients():
        gradients = [
            one.text
            for module in (Module.ROUTER, Module.FILTER_MEMORY)
            for one in await engine.store.get_gradients(module, None, 0, 10_000)
            if SECRET in one.text and one.writer != friend
        ]
        paths = [path async for path in engine.tracer.trace_attribute(SECRET, 0)]
        return bool(gradients), bool(paths)

    assert await find_gradients() == (True, True)
    await engine.forget(user_key(LONER))
    assert await find_gradients() == (False, False), "one user holds it, who is too few"


@pytest.mark.parametrize("store", STORES)
async def test_messages_do_not_name_what_too_few_hold_once_their_readers_lost_lines(
    tmp_path, store
):
    """Readers lose the lines that quote another title, “Glorb”.

    Attributes that only these lines supported leave the messages, too.
    """
    async with open_engine(make_engine(tmp_path, store, min_support=4)) as engine:
        await engine.upsert_clients(
            [
                ClientChange(key=item_key(101), title="Alpha", attributes=("opera", "kwote")),
                ClientChange(key=item_key(102), title="Glorb", attributes=("opera", "kwote")),
                ClientChange(key=item_key(103), title="Gamma", attributes=("glorb deluxe",)),
                ClientChange(key=user_key(LONER), title="Vera", attributes=("glorb",)),
            ]
        )
        pairs = ((30, 101), (31, 101), (32, 102), (33, 102), (LONER, 3), (LONER, 7))
        await engine.record([event(9_000 + n, *pair) for n, pair in enumerate(pairs)])
        await engine.drain()
        await engine.run_round()
        await engine.record([event(9_100, 30, 102)])
        await engine.drain()
        await engine.run_round()
        await record_history(engine, 1, 30)
        assert any("router" in found for found in await find_mentions(engine, "kwote"))
        await engine.forget(user_key(LONER))
        held = (await engine.store.get_attributes(["kwote"]))["kwote"]
        assert held.users < 4
        mentions = await find_mentions(engine, "kwote")
        assert not [found for found in mentions if "router" in found]


async def test_a_past_rule_does_not_call_a_router_by_what_left(engine):
    """The message fell out of the client's buffer.

    Later the client's rule moved to another router.
    """
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, 4, ONLY])
    message = next(one for one in await read_all_messages(engine) if SECRET in one.name)
    ref = await find_ref(engine, user_key(5))
    first = (await engine.store.load_texts([ref]))[ref].profile.version + 1
    for step, (router, name) in enumerate(
        [(message.router, SECRET), (message.router + 1, SECRET), (message.router + 1, "jazz")]
    ):
        text = (await engine.store.load_texts([ref]))[ref]
        rule = FilterRule(router=router, factor=1.5, text=f"Trusts what {name} fans pass on.")
        text = replace(
            text,
            profile=replace(text.profile, version=first + step),
            filter_memory=FilterMemory((rule,)),
        )
        heard = MessageMerge(ref, first, message.router, message.version, "fell out")
        await engine.store.commit_texts(
            [text], [] if step else [heard], await engine.store.get_recorded_through()
        )
    mine = await engine.store.get_interactions_of_clients(
        [await find_ref(engine, user_key(FRIEND))]
    )
    await engine.retract([row.event_id for row in mine])
    await engine.forget(user_key(LONER))
    past = await engine.store.get_texts_of_versions([(ref, first + step) for step in range(3)])
    assert len(past) == 3
    assert SECRET not in str(past)
    assert "jazz fans" in str(past)


async def test_a_rule_on_news_goes_with_the_news(engine):
    """A user who chose the item keeps the rule.

    The rule says the same as the user's own lines.
    """
    await record_history(engine, 1, 60)
    await choose(engine, 9_000, [LONER, FRIEND], [ONLY, 0, 4, ONLY])
    await record_history(engine, 2, 60)
    friend = await find_ref(engine, user_key(FRIEND))
    told = [
        (one.router, one.version)
        for one in await read_all_messages(engine)
        if SECRET in one.attributes
    ]
    readers = {
        merge.ref
        for merge in await engine.store.get_merges_of_messages(told)
        if get_kind(merge.ref) == ClientKind.USER
    } - {await find_ref(engine, user_key(LONER))}
    assert friend in readers
    assert len(readers) > 2
    versions = {}
    for ref, text in (await engine.store.load_texts(sorted(readers))).items():
        rows = await engine.store.get_interactions_of_clients([ref])
        rule = FilterRule(
            attribute=SECRET,
            factor=0.5,
            text=f"Be wary of news of {SECRET}.",
            evidence=(rows[0].sequence,),
            age=rows[0].sequence,
        )
        kept = [
            line
            for line in text.profile.lines
            if line.author is not Author.RECEPTION or SECRET not in line.attributes
        ]
        profile = replace(text.profile, version=text.profile.version + 1, lines=tuple(kept))
        versions[ref] = profile.version
        stale = replace(text, profile=profile, filter_memory=FilterMemory((rule,)))
        await engine.store.commit_texts([stale], [], await engine.store.get_recorded_through())
    await engine.forget(user_key(LONER))
    left = await engine.store.get_texts_of_versions(sorted(versions.items()))
    assert [key[0] for key, text in left.items() if text.filter_memory.rules] == [friend]


async def test_a_spelling_that_others_words_were_mapped_to_stays(engine):
    for user, spelling in ((LONER, "quorn zeb music"), (FRIEND, "zeb quorn"), (42, "quorn, zeb")):
        await engine.upsert_clients([ClientChange(key=user_key(user), attributes=(spelling,))])
        await engine.drain()
        await engine.run_round()
    canonical = engine.vectors.canonical.targets
    assert canonical["zeb quorn"] == "quorn zeb music", "the first spelling counts"
    await engine.forget(user_key(LONER))
    known = await engine.store.get_attributes(["quorn zeb music"])
    assert known["quorn zeb music"].users == 2


@pytest.mark.parametrize("store", STORES)
async def test_forgetting_two_of_three_who_chose_an_item_leaves_no_citation_of_them(
    tmp_path, store
):
    """Forgetting the second user empties the item's version after her choice.

    The search for citations must go on behind that version.
    """
    async with open_engine(make_engine(tmp_path, store, propagate=False)) as engine:
        users = (LONER, FRIEND, LONER + 2)
        for place, (item, user) in enumerate(product((0, 4, 7), users)):
            await engine.record([event(9_000 + place, user, item)])
            await engine.drain()
        erased = set()
        for user in (FRIEND, LONER):
            ref = await find_ref(engine, user_key(user))
            erased |= {
                row.sequence for row in await engine.store.get_interactions_of_clients([ref])
            }
            await engine.forget(user_key(user))
        texts = await engine.store.find_citing_texts(
            [CitationSearch(await find_ref(engine, item_key(7)), None)]
        )
    assert erased.isdisjoint(
        source.sequence
        for one in texts
        for line in one.text.profile.lines
        for source in line.sources
    )


@pytest.mark.parametrize("word", ["community", "choice", "drawn", "Straßenzug", "ＷＵＧＧＡ"])
async def test_words_that_others_use_too_stay(engine, word):
    """The forgotten user chose nothing, so no other client loses anything."""
    await engine.upsert_clients(
        [ClientChange(key=user_key(LONER), title="x", attributes=(word, "jazz"))]
        + [
            ClientChange(key=key, title="y", attributes=("Straßenzug", "ＷＵＧＧＡ", "jazz"))
            for key in (user_key(5), item_key(1))
        ]
    )
    await record_history(engine, 1, 60)

    async def read_others():
        own = await find_ref(engine, user_key(LONER))
        lines = [
            (ref, text.profile.lines, text.filter_memory)
            for ref, text in sorted((await read_texts(engine)).items())
            if ref != own
        ]
        return lines, [
            (one.name, one.text, one.attributes) for one in await read_all_messages(engine)
        ]

    before = await read_others()
    await engine.forget(user_key(LONER))
    assert await read_others() == before


async def test_a_word_of_the_forgotten_user_goes_in_either_case_of_letters(engine):
    await engine.upsert_clients(
        [ClientChange(key=user_key(LONER), title="x", attributes=("zugwang",))]
    )
    await record_history(engine, 1, 20)
    ref = await find_ref(engine, user_key(5))
    text = (await engine.store.load_texts([ref]))[ref]
    line = replace(text.profile.lines[0], id=text.profile.next_id, text="Likes ZugWang, too.")
    profile = replace(
        text.profile,
        version=text.profile.version + 1,
        next_id=line.id + 1,
        lines=(*text.profile.lines, line),
    )
    sequence = await engine.store.get_recorded_through()
    await engine.store.commit_texts([replace(text, profile=profile)], [], sequence)
    await engine.forget(user_key(LONER))
    (left,) = (await engine.store.load_texts([ref])).values()
    assert left.profile.lines == text.profile.lines


async def test_a_user_s_line_does_not_quote_what_was_taken_back(engine):
    await engine.upsert_clients(
        [
            ClientChange(key=item_key(ONLY), title="Coming Out: A Guide", attributes=("jazz",)),
            ClientChange(key=item_key(WORDLESS), title="Other Record", attributes=("jazz",)),
        ]
    )
    events = [event(9_000, FRIEND, ONLY), event(9_001, FRIEND, WORDLESS)]
    for one in events:
        await engine.record([one])
        await engine.drain()
    await engine.retract([events[0].event_id])
    ref = await find_ref(engine, user_key(FRIEND))
    (line,) = (await engine.store.load_texts([ref]))[ref].profile.lines
    assert "Other Record" in line.text
    assert "Coming Out" not in line.text
