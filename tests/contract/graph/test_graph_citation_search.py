"""The search for citing texts against its definition: it may find more, and never less."""

from dataclasses import replace
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from propagation.model import (
    Citations,
    CitationSearch,
    ClientKind,
    ClientText,
    EntryKind,
    FilterMemory,
    FilterRule,
    Line,
    Profile,
    Source,
    Withdrawal,
    normalize_name,
)
from tests.contract.citation_reference import Version, find_matching, matches
from tests.contract.graph_store import change, checkpoint, user, withdraw

READER = user(0)
NAMES = (
    "jazz",
    "opera nights",
    "Straßenmusik",
    "Σίσυφος",
    "ﬁddle",
    "ſlow",
    "ŉduja",
    "東京",
    'say "hi"',
)
CASES = (str, str.lower, str.upper, str.title, str.casefold)
WORDS = st.builds(lambda name, case: case(name), st.sampled_from(NAMES), st.sampled_from(CASES))
ATTRIBUTES = st.sampled_from([normalize_name(name) for name in NAMES])
SEQUENCES = st.sampled_from((1, 7, 70, 71))
MESSAGES = st.sampled_from(((3, 1), (3, 11), (31, 1)))
SOURCES = st.one_of(
    st.builds(lambda sequence: Source(sequence=sequence), SEQUENCES),
    st.builds(lambda key: Source(router=key[0], version=key[1]), MESSAGES),
)
SENTENCES = st.builds(
    lambda words: f"Likes {', '.join(words)} and more, 7,", st.lists(WORDS, max_size=2)
)
LINES = st.builds(
    lambda text, attributes, sources: (text, tuple(attributes), tuple(sources)),
    SENTENCES,
    st.lists(ATTRIBUTES, max_size=2),
    st.lists(SOURCES, min_size=1, max_size=2),
)
RULES = st.one_of(
    st.builds(
        lambda text, evidence, age: FilterRule(
            2.0, text, router=7, evidence=tuple(evidence), age=age
        ),
        SENTENCES,
        st.lists(SEQUENCES, max_size=2),
        SEQUENCES,
    ),
    st.builds(lambda text, name: FilterRule(0.5, text, attribute=name), SENTENCES, ATTRIBUTES),
)
CONTENTS = st.tuples(
    st.lists(LINES, max_size=2), st.lists(RULES, max_size=1), st.sampled_from((10, 20, 30))
)
SOME_WORDS = st.frozensets(WORDS, max_size=1)
CITATIONS = st.builds(
    Citations,
    sequences=st.frozensets(SEQUENCES, max_size=1),
    messages=st.dictionaries(
        MESSAGES, st.none() | st.frozensets(ATTRIBUTES, max_size=1), max_size=1
    ),
    words=SOME_WORDS,
    message_words=SOME_WORDS,
    rule_words=SOME_WORDS,
    router_words=st.dictionaries(st.sampled_from((7, 8)), SOME_WORDS, max_size=1),
)
STARTS = st.one_of(
    st.just({}),
    st.builds(lambda sequence: {"at_sequence": sequence}, st.sampled_from((10, 20, 30))),
    st.builds(lambda version: {"from_version": version}, st.integers(1, 4)),
)
SEARCHES = st.lists(
    st.builds(
        lambda citations, start: CitationSearch(READER, citations, **start),
        st.none() | CITATIONS,
        STARTS,
    ),
    min_size=1,
    max_size=4,
)


def build(version, lines, rules, ref=READER):
    return ClientText(
        profile=Profile(
            ref=ref,
            version=version,
            next_id=9,
            lines=tuple(
                Line(id=id_, text=text, attributes=attributes, weight=1.0, sources=sources)
                for id_, (text, attributes, sources) in enumerate(lines, 1)
            ),
        ),
        filter_memory=FilterMemory(rules=tuple(rules)),
    )


@given(
    contents=st.lists(CONTENTS, min_size=1, max_size=4),
    rewrites=st.dictionaries(st.integers(1, 4), CONTENTS, max_size=1),
    searches=SEARCHES,
)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
async def test_every_text_that_cites_is_found(store, contents, rewrites, searches):
    """All examples use one store, and each a reader of its own: to open one takes longest."""
    reader = change(ClientKind.USER, str(uuid4()))
    await store.upsert_clients([reader])
    (ref,) = await store.find_refs([reader.key])
    searches = [replace(search, ref=ref) for search in searches]
    versions = []
    for number, (lines, rules, sequence) in enumerate(contents, 1):
        version = Version(build(number, lines, rules, ref), sequence)
        await store.commit_texts([version.text], [], sequence)
        if number in rewrites:
            rewritten = build(number, *rewrites[number][:2], ref)  # type: ignore[call-arg]
            version = Version(rewritten, sequence, rewritten=True)
        versions.append(version)
    if rewritten := [one.text for one in versions if one.rewritten]:
        lease = await store.acquire_lease("learn", "test", 10_000)
        cleaned = Withdrawal(
            kind=EntryKind.RETRACTION,
            refs=(ref,),
            interactions=(),
            rewritten=rewritten,
            texts_read_through=await store.get_texts_through(),
        )
        await withdraw(store, lease, cleaned, checkpoint(0, barrier=True))
    for search in searches:
        found = await store.find_citing_texts([search])
        numbers = {one.text.profile.version for one in found}
        assert numbers >= find_matching(versions, search), search
        assert [one.text for one in found] == [versions[n - 1].text for n in sorted(numbers)]
        assert [one.current for one in found] == [n == len(versions) for n in sorted(numbers)]
    together = await store.find_citing_texts(searches)
    assert {one.text.profile.version for one in together} >= {
        number for search in searches for number in find_matching(versions, search)
    }


async def test_a_search_finds_what_cites_where_retention_dropped_the_first_that_did(store):
    """Versions do not ascend in their sequences: a version is dropped by that of the next."""
    reader = change(ClientKind.USER, str(uuid4()))
    await store.upsert_clients([reader])
    (ref,) = await store.find_refs([reader.key])
    cites = ("Likes jazz.", (), (Source(sequence=100),))
    for version, sequence in enumerate((100, 50, 52, 120), 1):
        await store.commit_texts([build(version, [cites], [], ref)], [], sequence)
    while await store.prune(60, 100) is not None:
        pass
    search = CitationSearch(ref, Citations(frozenset([100])), at_sequence=100)
    found = await store.find_citing_texts([search])
    assert found == await store.find_citing_texts([CitationSearch(ref, None)])
    assert found[-1].current


def test_the_definition_itself():
    cites = build(1, [("Likes Σίσυφος", ("jazz",), (Source(router=3, version=1),))], [])
    for citations, expected in (
        (None, True),
        (Citations(), False),
        (Citations(messages={(3, 1): None}), True),
        (Citations(messages={(3, 1): frozenset({"folk"})}), False),
        (Citations(messages={(3, 1): frozenset({"jazz"})}), True),
        (Citations(messages={(3, 1): frozenset()}, message_words=frozenset({"ΣΊΣΥΦΟΣ"})), True),
        (Citations(messages={(3, 2): None}, message_words=frozenset({"likes"})), False),
        (Citations(sequences=frozenset({3})), False),
        (Citations(rule_words=frozenset({"likes"})), False),
        (Citations(router_words={7: frozenset({"likes"})}), False),
        (Citations(words=frozenset({"LIKES"})), True),
    ):
        assert matches(cites, citations) == expected, citations
    silent = Version(build(2, [], []), 20)
    search = CitationSearch(READER, Citations(words=frozenset({"likes"})), from_version=1)
    later = Version(build(3, [("likes", (), ())], []), 30)
    first = Version(cites, 10)
    assert find_matching([first, silent, later], search) == {1}
    ended_by_none = Version(silent.text, 20, rewritten=True)
    assert find_matching([first, ended_by_none, later], search) == {1, 3}
