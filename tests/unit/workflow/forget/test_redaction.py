"""Redaction of texts and messages, with examples computed by hand."""

from dataclasses import replace

import pytest

from propagation.graph_rules.name_matching import OwnWords
from propagation.model import (
    AffectedMessage,
    Author,
    ClientKind,
    ClientText,
    FilterMemory,
    FilterRule,
    IntegratedAttribute,
    Line,
    Profile,
    RouterVersion,
    Source,
    compute_ref,
)
from propagation.routing import RouterNames
from propagation.workflow.forget.redaction import (
    LostNames,
    Redaction,
    Removal,
    Supporters,
    find_public_names,
    find_unsupported_parts,
    list_lost_names,
    redact_line,
    redact_message,
)

ANN, BOB, CID = (compute_ref(ClientKind.USER, n) for n in range(3))
BLUE, RED, GREEN = (compute_ref(ClientKind.ITEM, n) for n in range(3))
# In interactions 1 to 3 Ann, Bob and Cid chose Blue, in interaction 4 Ann chose Red.
WHO = Supporters(
    {1: (ANN, BLUE), 2: (BOB, BLUE), 3: (CID, BLUE), 4: (ANN, RED)},
    {(5, 1): frozenset({BOB, CID}), (5, 2): frozenset({BOB})},
)


def line(*sources, text="Enjoys jazz.", attributes=("jazz",), author=Author.INTERACTION):
    return Line(
        id=1,
        text=text,
        attributes=attributes,
        author=author,
        sources=tuple(
            Source(sequence=one) if isinstance(one, int) else Source(router=one[0], version=one[1])
            for one in sources
        ),
    )


def removal(*sequences, least=2, **fields):
    return Removal(frozenset(sequences), least, **fields)


NO_WORDS = OwnWords()


def redact(affected, words=NO_WORDS, supported=(), least=2):
    """Redact a message, whose standing keeps the attributes that are not lost."""
    public = find_public_names([affected], least).get(affected.message.round, frozenset())
    lost = find_unsupported_parts(affected, frozenset(), frozenset(supported), public)
    standing = tuple(one for one in affected.message.standing if one[0] not in lost)
    names = RouterNames([affected.message])
    return redact_message(affected, Removal(frozenset(), least, words), lost, standing, names)


def test_a_line_without_withdrawn_sources_is_the_same_object():
    same = line(2, 3)
    assert redact_line(same, BLUE, removal(1), WHO) is same


def test_an_items_line_needs_min_support_users():
    left = redact_line(line(1, 2, 3), BLUE, removal(1), WHO)
    assert [source.sequence for source in left.sources] == [2, 3]
    assert redact_line(line(1, 2), BLUE, removal(1), WHO) is None
    assert redact_line(line(1), BLUE, removal(1), WHO) is None
    assert redact_line(line(1, 2), BLUE, removal(1, least=1), WHO).sources == (Source(sequence=2),)


def test_a_users_own_choice_supports_its_own_line():
    assert redact_line(line(1, 4), ANN, removal(1), WHO).sources == (Source(sequence=4),)
    assert redact_line(line(1), ANN, removal(1), WHO) is None


def test_catalogue_lines_stay():
    own = line(text="“Kind of Blue”, listed under jazz.", author=Author.CATALOGUE)
    assert (
        redact_line(own, BLUE, removal(1, words=OwnWords(frozenset(["Kind of Blue"]))), WHO) is own
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Enjoys jazz, such as “Kind of Blue”, “A” and “B”.", "Enjoys jazz, such as “A” and “B”."),
        ("Enjoys jazz, such as “A” and “Kind of Blue”.", "Enjoys jazz, such as “A”."),
        ("Has had a first taste of jazz: “Kind of Blue”.", "Has had a first taste of jazz."),
        ("Loves jazz; the latest choices are “Kind of Blue”.", "Loves jazz."),
        ("Enjoys “Kind of Blue” whenever it rains, unlike “A”.", None),
    ],
)
def test_a_quotation_of_the_title_goes_and_the_rest_stays(text, left):
    words = OwnWords(frozenset(["Kind of Blue"]))
    assert words.leave_out(text) == left
    found = redact_line(line(1, 4, text=text), ANN, removal(1, words=words), WHO)
    assert (found and found.text) == left


def test_a_title_of_one_word_counts_only_where_the_text_cites_the_client():
    words = OwnWords(frozenset(["Jazz"]))
    other = line(2, text="Enjoys Jazz.")
    assert redact_line(other, CID, removal(1, words=words), WHO) is other
    assert (
        redact_line(
            replace(other, sources=(Source(sequence=1), Source(sequence=4))),
            ANN,
            removal(1, words=words),
            WHO,
        )
        is None
    )


def test_a_merged_line_goes_with_the_attributes_that_its_message_lost():
    heard = line((5, 1), (5, 2), author=Author.RECEPTION)
    kept = redact_line(
        heard, ANN, removal(least=1, messages={(5, 2): LostNames(emptied=True)}), WHO
    )
    assert kept.sources == (Source(router=5, version=1),)
    assert (
        redact_line(heard, ANN, removal(least=3, messages={(5, 2): LostNames(emptied=True)}), WHO)
        is None
    )
    assert (
        redact_line(heard, ANN, removal(messages={(5, 1): LostNames(frozenset({"opera"}))}), WHO)
        is heard
    )


def test_rules_lose_evidence_and_go_with_the_last_of_it():
    rules = (
        FilterRule(router=1, factor=2.0, text="Welcome it.", evidence=(1, 2)),
        FilterRule(router=2, factor=2.0, text="Welcome it.", evidence=(1,)),
        FilterRule(
            attribute="theremin", factor=2.0, text="Welcome news of theremin.", evidence=(3,)
        ),
        FilterRule(router=3, factor=2.0, text="Welcome it.", evidence=(3,)),
    )
    text = ClientText(profile=Profile(ref=BOB, version=1), filter_memory=FilterMemory(rules))
    after = (
        Redaction(removal(1, words=OwnWords(names=frozenset({"theremin"}))), WHO)
        .redact(text)
        .filter_memory.rules
    )
    assert [(rule.router, rule.evidence) for rule in after] == [(1, (2,)), (3, (3,))]
    assert after[1] is rules[3]


def test_a_rule_is_not_dated_by_an_event_that_goes():
    rules = (
        FilterRule(router=1, factor=2.0, text="Welcome it.", evidence=(2, 4), age=5),
        FilterRule(router=2, factor=2.0, text="Welcome it.", evidence=(2,), age=2),
    )
    text = ClientText(profile=Profile(ref=BOB, version=1), filter_memory=FilterMemory(rules))
    after = Redaction(removal(5), WHO).redact(text).filter_memory.rules
    assert [(rule.evidence, rule.age) for rule in after] == [((2, 4), 4), ((2,), 2)]


def test_a_message_loses_attributes_that_only_that_client_brought():
    message = RouterVersion(
        router=1,
        version=1,
        round=1,
        epoch=1,
        name="jazz and theremin",
        text=(
            "A community drawn to jazz. It is now turning to theremin. Seen around “Kind of Blue”."
        ),
        attributes=("theremin", "jazz"),
        standing=(("jazz", 2.0), ("theremin", 1.0)),
    )
    part = IntegratedAttribute("theremin", BLUE, 1, 1)
    sent = AffectedMessage(message, (part,), {"theremin": frozenset()})
    after = redact(sent, OwnWords(frozenset(["Kind of Blue"]), frozenset({"theremin"})))
    assert (after.attributes, after.standing, after.name, after.text) == (
        ("jazz",),
        (("jazz", 2.0),),
        "jazz",
        "A community drawn to jazz.",
    )
    assert list_lost_names(message, after) == LostNames(frozenset({"theremin"}))
    supported = AffectedMessage(message, (part,), {"theremin": frozenset({(RED, 1)})})
    after = redact(supported, OwnWords(frozenset(["Kind of Blue"])), {"theremin"})
    assert (after.attributes, after.text) == (
        message.attributes,
        "A community drawn to jazz. It is now turning to theremin.",
    )
    assert redact(supported, OwnWords(frozenset(["Sketches of Spain"])), {"theremin"}) is message


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "A community drawn to theremin and jazz. Lately it looks to opera.",
            "A community drawn to jazz and opera. Lately it looks to opera.",
        ),
        ("Jazz, opera and theremin are what counts here.", "A community drawn to jazz and opera."),
        (
            "A community drawn to jazz. Theremin fans saw “Rain. An Odyssey” and “Rain”.",
            "A community drawn to jazz.",
        ),
    ],
)
def test_a_message_keeps_the_sentences_without_the_words(text, want):
    message = RouterVersion(
        router=1,
        version=1,
        round=1,
        epoch=1,
        name="theremin",
        text=text,
        attributes=("jazz", "theremin", "opera"),
    )
    sent = AffectedMessage(
        message, (IntegratedAttribute("theremin", BLUE, 1, 1),), {"theremin": frozenset()}
    )
    after = redact(sent)
    assert (after.attributes, after.name, after.text) == (("jazz", "opera"), "jazz and opera", want)


def test_a_message_without_attributes_has_an_empty_text():
    message = RouterVersion(
        router=1,
        version=1,
        round=1,
        epoch=1,
        name="theremin",
        text="A community drawn to theremin.",
        attributes=("theremin",),
    )
    sent = AffectedMessage(
        message, (IntegratedAttribute("theremin", BLUE, 1, 1),), {"theremin": frozenset()}
    )
    assert redact(sent).text == ""


@pytest.mark.parametrize(("items", "stays"), [(1, False), (2, True)])
def test_an_attribute_of_the_catalogue_stays_if_enough_items_brought_it(items, stays):
    message = RouterVersion(
        router=1, version=1, round=1, epoch=1, name="jazz", text="", attributes=("jazz",)
    )
    others = frozenset({(RED + 2 * n, 0) for n in range(items)})
    sent = AffectedMessage(message, (IntegratedAttribute("jazz", BLUE, 1, 1),), {"jazz": others})
    after = redact(sent)
    assert after.attributes == (("jazz",) if stays else ())


def test_a_rule_does_not_quote_what_a_message_of_its_router_lost():
    rule = FilterRule(
        2.0, "Welcome what the theremin community passes on.", router=3, evidence=(7,)
    )
    removal = Removal(frozenset(), least=2, messages={(3, 1): LostNames(frozenset({"theremin"}))})
    text = ClientText(Profile(RED, 1, ()), FilterMemory((rule,)))
    (after,) = Redaction(removal, Supporters()).redact(text).filter_memory.rules
    assert "theremin" not in after.text
    assert replace(after, text=rule.text) == rule


def test_a_line_loses_the_weight_of_withdrawn_sources():
    heard = replace(line(1, 2, 3), weight=1 + 0.95 + 0.95**2)
    after = redact_line(heard, BLUE, removal(1), WHO)
    assert after.weight == pytest.approx(1 + 0.95)
