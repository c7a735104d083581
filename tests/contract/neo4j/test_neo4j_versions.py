"""Versions are stored as differences; each can be read.

That holds whatever a withdrawal, retention or a crash does to the others.
"""

from dataclasses import replace
from random import Random

import pytest

from propagation.adapters.neo4j.forget import text_rewriting
from propagation.adapters.shared.text_bodies import BodyEncoder, is_difference
from propagation.adapters.shared.versions.version_bodies import VERSIONS_PER_GROUP
from propagation.model import (
    Citations,
    CitationSearch,
    ClientText,
    EntryKind,
    FilterMemory,
    FilterRule,
    IntegratedAttribute,
    Line,
    Profile,
    Source,
    StoreCorrupt,
    Withdrawal,
)
from tests.contract.graph_store import (
    checkpoint,
    create_clients,
    message,
    record_pairs,
    run_round,
    user,
    withdraw,
)
from tests.neo4j_server.shared import get_shared_server

pytestmark = [pytest.mark.neo4j, pytest.mark.parametrize("reopen", ["neo4j"], indirect=True)]
ANN, BOB = user(0), user(1)
COUNT = 2 * VERSIONS_PER_GROUP + 7
KEPT = Line(id=999, text="Likes what stays.", sources=(Source(sequence=1),))


def make_texts(ref, count, seed, *, first=1):
    """Make versions that differ in a few lines and rules."""
    draw = Random(seed)
    lines, rules, texts = {KEPT.id: KEPT}, {}, []
    for version in range(first, first + count):
        for _ in range(draw.randrange(3)):
            id_ = draw.randrange(8)
            if draw.random() < 0.3:
                lines.pop(id_, None)
            else:
                sources = tuple(Source(sequence=draw.randrange(1, 9)) for _ in range(2))
                lines[id_] = Line(id=id_, text=f"Word{draw.randrange(99)}.", sources=sources)
        if draw.random() < 0.2:
            router = draw.randrange(3)
            rules[router] = FilterRule(2.0, f"Rule{version}.", router=router, age=version)
        order = sorted(lines.values(), key=lambda line: draw.random() < 0.1)
        profile = Profile(ref=ref, version=version, lines=tuple(order), next_id=1_000)
        texts.append(ClientText(profile=profile, filter_memory=FilterMemory((*rules.values(),))))
    return texts


async def write_texts(store, count=COUNT, seed=1):
    """Write versions of Ann and Bob; return them by client and version.

    Each version has the sequence of its number.
    """
    await create_clients(store)
    both = [make_texts(ref, count, seed + ref) for ref in (ANN, BOB)]
    for sequence, texts in enumerate(zip(*both, strict=True), 1):
        await store.commit_texts(texts, [], sequence)
    return index(*both)


def index(*lists):
    return {(text.profile.ref, text.profile.version): text for texts in lists for text in texts}


def read_bodies(ref=ANN):
    rows = get_shared_server().run(
        "MATCH (p:ProfileVersion {ref: $ref}) RETURN p.version, p.body", ref=ref
    )
    return dict(sorted(rows))


async def rewrite(store, *texts):
    """Rewrite past versions, and change nothing else."""
    lease = await store.acquire_lease("learn", "test", 60_000)
    change = Withdrawal(
        kind=EntryKind.RETRACTION,
        refs=(ANN,),
        interactions=(),
        rewritten=texts,
        texts_read_through=await store.get_texts_through(),
    )
    await withdraw(store, lease, change, checkpoint(0, barrier=True))


def without(line_id, text):
    lines = tuple(line for line in text.profile.lines if line.id != line_id)
    return replace(text, profile=replace(text.profile, lines=lines))


async def assert_all_are_read(store, texts, numbers):
    """Assert that every kind of read returns these versions.

    Args:
        numbers: Ann's stored versions.
    """
    assert await store.get_texts_of_versions([*texts]) == texts
    assert await store.check() == []
    for number in numbers:
        assert await store.get_texts_of_versions([(ANN, number)]) == {
            (ANN, number): texts[ANN, number]
        }
        search = CitationSearch(ANN, Citations(frozenset([999])), from_version=number)
        found = await store.find_citing_texts([replace(search, citations=None)])
        assert [one.text for one in found] == [texts[ANN, n] for n in numbers if n >= number]
    assert (await store.load_texts([ANN]))[ANN] == texts[ANN, numbers[-1]]
    exported = [
        record async for kind, record in store.export_client(ANN) if kind == "profile_version"
    ]
    assert [(one["version"], [line["text"] for line in one["lines"]]) for one in exported] == [
        (n, [line.text for line in texts[ANN, n].profile.lines]) for n in numbers
    ]
    words = {line.text for text in texts.values() for line in text.profile.lines}
    for word in words:
        assert await store.find_clients_naming(frozenset([word])) == {
            ref
            for (ref, _), text in texts.items()
            if any(word in line.text for line in text.profile.lines)
        }


async def test_the_first_version_of_a_group_is_full_and_the_others_are_differences(store):
    texts = await write_texts(store)
    bodies = read_bodies()
    assert [version for version, body in bodies.items() if not is_difference(body)] == [
        1,
        1 + VERSIONS_PER_GROUP,
        1 + 2 * VERSIONS_PER_GROUP,
    ]
    await assert_all_are_read(store, texts, range(1, COUNT + 1))
    for sequence in range(1, COUNT + 1):
        assert await store.get_text_at(ANN, sequence) == texts[ANN, sequence]


async def test_a_database_with_full_bodies_alone_is_read_continued_and_rewritten(store):
    texts = await write_texts(store)
    for (ref, version), text in texts.items():
        body = BodyEncoder().encode(text.profile.lines, text.filter_memory.rules, ref, version)
        get_shared_server().run(
            "MATCH (p:ProfileVersion {ref: $ref, version: $version}) SET p.body = $body",
            ref=ref,
            version=version,
            body=body,
        )
    await assert_all_are_read(store, texts, range(1, COUNT + 1))
    more = make_texts(ANN, 3, 5, first=COUNT + 1)
    for text in more:
        await store.commit_texts([text], [], COUNT)
    changed = [without(KEPT.id, texts[ANN, number]) for number in (3, 4, COUNT)]
    await rewrite(store, *changed)
    await assert_all_are_read(store, texts | index(more, changed), range(1, COUNT + 4))


@pytest.mark.parametrize("seed", range(4))
async def test_rewritten_versions_are_read_and_the_others_stay(store, seed):
    texts = await write_texts(store, seed=seed)
    draw = Random(seed)
    numbers = draw.sample(range(1, COUNT), 9)
    chosen = [(ref, number) for ref in (ANN, BOB) for number in numbers]
    ids = [draw.choice([KEPT.id, *range(8)]) for _ in chosen]
    changed = [without(id_, texts[key]) for id_, key in zip(ids, chosen, strict=True)]
    await rewrite(store, *changed)
    await assert_all_are_read(store, texts | index(changed), range(1, COUNT + 1))


async def test_a_line_that_all_versions_lose_is_written_once_a_group(store):
    texts = await write_texts(store)
    before = read_bodies()
    changed = [without(KEPT.id, texts[ANN, number]) for number in range(1, COUNT)]
    await rewrite(store, *changed)
    now = read_bodies()
    written = [version for version in now if now[version] != before[version]]
    assert {version for version in before if not is_difference(before[version])} <= {*written}
    assert COUNT in written, "it is not rewritten, and builds on a version that is"
    # A difference also changes where a line has moved behind the one that all of them lose.
    assert len(written) < COUNT / 2
    await assert_all_are_read(store, texts | index(changed), range(1, COUNT + 1))


async def test_a_search_goes_on_behind_a_version_whose_line_the_one_before_it_lost(store):
    """A search ends where nothing is cited, unless a withdrawal took it."""
    cites = Line(id=1, text="Likes jazz.", sources=(Source(sequence=77),))
    other = replace(cites, id=2, text="Likes soul.", sources=(Source(sequence=3),))
    await create_clients(store)
    contents = [(cites, other), (cites, other), (cites, other), (cites, KEPT)]
    texts = [
        ClientText(profile=Profile(ref=ANN, version=version, lines=lines, next_id=1_000))
        for version, lines in enumerate(contents, 1)
    ]
    for text in texts:
        await store.commit_texts([text], [], text.profile.version)
    await rewrite(store, *(without(1, text) for text in texts[:3]))
    search = CitationSearch(ANN, Citations(frozenset([77])), from_version=1)
    assert [one.text for one in await store.find_citing_texts([search])] == [texts[3]]


async def test_every_version_is_read_after_a_crash_between_the_commits_of_a_withdrawal(
    store, monkeypatch
):
    texts = await write_texts(store)
    changed = [without(KEPT.id, text) for key, text in texts.items() if key[1] < COUNT]
    monkeypatch.setattr(text_rewriting, "VERSIONS_PER_COMMIT", 1)
    write, commits = store.database.write, []

    async def write_and_crash(work, *leases):
        if len(commits) == 3:
            raise ConnectionError("killed")
        commits.append(await write(work, *leases))

    lease = await store.acquire_lease("learn", "test", 60_000)
    with monkeypatch.context() as patched:
        patched.setattr(store.database, "write", write_and_crash)
        with pytest.raises(ConnectionError):
            await text_rewriting.rewrite_past_texts(store.database, lease, changed)
    found = await store.get_texts_of_versions([*texts])
    new = index(changed)
    assert all(found[key] in (text, new.get(key)) for key, text in texts.items())
    assert {key for key in new if found[key] == new[key]} >= {
        (ANN, number) for number in range(1, 1 + VERSIONS_PER_GROUP)
    }
    assert await store.check() == []
    await rewrite(store, *changed)
    await assert_all_are_read(store, texts | new, range(1, COUNT + 1))


async def test_retention_leaves_versions_that_can_be_read(store):
    """Versions stay that messages have parts of, without those before them."""
    texts = await write_texts(store)
    await record_pairs(store, *[("u2", "i0")] * 60)
    held = (3, 4, 9, 17, 30)
    parts = tuple(
        IntegratedAttribute(attribute="jazz", ref=ANN, profile_version=n, sequence=n) for n in held
    )
    await run_round(store, versions=(replace(message(3, 1), integrated=parts),))
    while await store.prune(36, 5) is not None:
        pass
    numbers = [*held, *range(36, COUNT + 1)]
    kept = {
        (ref, number): texts[ref, number]
        for ref, stored in ((ANN, numbers), (BOB, range(36, COUNT + 1)))
        for number in stored
    }
    assert (await store.get_texts_of_versions([*texts])).keys() == kept.keys()
    await assert_all_are_read(store, kept, numbers)
    bodies = read_bodies()
    assert [is_difference(bodies[number]) for number in (3, 4, 9, 36, 37)] == [
        False,
        True,
        False,
        False,
        True,
    ]


async def test_a_version_that_another_commit_shows_in_part_is_read_again(store, monkeypatch):
    texts = await write_texts(store, 5)
    table, hidden = store.database.table, []

    async def hide_once(name, /, **parameters):
        rows = await table(name, **parameters)
        if not hidden and name.endswith(("current_texts", "texts_of_versions")):
            hidden.append(rows[0][2].pop(1))
        elif not hidden and name.endswith("versions_from"):
            hidden.append(rows.pop(1))
        return rows

    monkeypatch.setattr(store.database, "table", hide_once)
    assert (await store.load_texts([ANN]))[ANN] == texts[ANN, 5]
    hidden.clear()
    assert await store.get_texts_of_versions([(ANN, 4)]) == {(ANN, 4): texts[ANN, 4]}
    hidden.clear()
    found = await store.find_citing_texts([CitationSearch(ANN, None)])
    assert [one.text for one in found] == [texts[ANN, number] for number in range(1, 6)]
    assert len(hidden) == 1


DAMAGES = {
    "its bytes": ("SET p.body = $changed", "version 4 of its profile cannot be read", "[45]"),
    "no body": ("REMOVE p.body", "version 4 of its profile has lost its lines and rules", "[45]"),
    "no version": (
        "DETACH DELETE p",
        "version 5 of its profile cannot be read: version 4, on which it builds, is missing",
        "5",
    ),
}


@pytest.mark.parametrize(("damage", "found", "unread"), DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_difference_is_found_and_not_read(store, damage, found, unread):
    texts = await write_texts(store, 8)
    get_shared_server().run(
        f"MATCH (p:ProfileVersion {{ref: $ref, version: 4}}) WITH p, $changed AS changed {damage}",
        ref=ANN,
        changed=read_bodies()[4].replace(b"\x28\xb5", b"\x28\xb6"),
    )
    problems = await store.check()
    assert [one for one in problems if f"client {ANN}: {found}" in one], problems
    assert not [one for one in problems if "version 6" in one or "version 7" in one], problems
    assert await store.get_texts_of_versions([(ANN, 3)]) == {(ANN, 3): texts[ANN, 3]}
    with pytest.raises(StoreCorrupt, match=f"client {ANN}: version 7 of its profile cannot be"):
        await store.get_texts_of_versions([(ANN, 7)])
    with pytest.raises(StoreCorrupt, match=f"client {ANN}: version {unread} of its profile cannot"):
        await store.find_citing_texts([CitationSearch(ANN, None)])


async def test_the_difference_of_another_version_is_found(store):
    await write_texts(store, 8)
    get_shared_server().run(
        "MATCH (p:ProfileVersion {ref: $ref, version: 4}), (q:ProfileVersion {ref: $ref,"
        " version: 6}) SET p.body = q.body",
        ref=ANN,
    )
    (problem, *_) = await store.check()
    assert f"client {ANN}: version 4 of its profile " in problem
