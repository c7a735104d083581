"""Checks of a commit: what lets it pass, and what refuses it."""

import pytest

from propagation.graph_rules.commit_checks import (
    check_claim,
    check_no_withdrawal,
    check_staged,
    check_texts_follow,
    check_uncited,
)
from propagation.model import (
    ClientText,
    EntryKind,
    FilterMemory,
    FilterRule,
    InteractionRow,
    LeaseLost,
    Line,
    Profile,
    ReasonClaim,
    ReasonWork,
    RouterVersion,
    Source,
    Withdrawal,
)
from propagation.ports import VersionClash

WORK = ReasonWork(5, 0, 1, negative=None, weight=1, score_positive=None, score_negative=None)
CLAIM = ReasonClaim(token=1, worker="one", work=(WORK,))
ANN, BOB = 0, 2


def test_a_claim_ends_the_interactions_that_it_holds():
    check_claim(CLAIM, True, [5])
    with pytest.raises(LeaseLost, match="6"):
        check_claim(CLAIM, True, [5, 6])
    with pytest.raises(LeaseLost, match="'one'"):
        check_claim(CLAIM, False, [5])


def test_texts_of_one_commit_follow_each_other():
    check_texts_follow([(ANN, 2), (BOB, 1), (ANN, 3)], {ANN: 1, BOB: 0})


@pytest.mark.parametrize("versions", [[(ANN, 1)], [(ANN, 3)], [(ANN, 2), (ANN, 2)]])
def test_a_text_that_follows_no_stored_version_clashes(versions):
    with pytest.raises(VersionClash) as clash:
        check_texts_follow(versions, {ANN: 1})
    assert clash.value.ref == ANN


def test_a_text_of_a_forgotten_client_clashes():
    with pytest.raises(VersionClash):
        check_texts_follow([(BOB, 1)], {ANN: 0})


def test_a_withdrawal_since_the_texts_were_read_clashes():
    texts = [ClientText.empty(ANN)]
    check_no_withdrawal(texts, 7, 7)
    check_no_withdrawal(texts, None, 9)
    check_no_withdrawal([], 7, 9)
    with pytest.raises(VersionClash):
        check_no_withdrawal(texts, 7, 9)


GONE = InteractionRow(sequence=7, event_id="e", user=ANN, item=1, negative=None, time=1, weight=1)
CHANGED = RouterVersion(router=3, version=2, round=1, epoch=1, name="Jazz", text="more jazz")
WITHDRAWAL = Withdrawal(
    kind=EntryKind.RETRACTION, refs=(ANN,), interactions=[GONE], messages=[CHANGED]
)


def written(*sources, **rule):
    line = Line(id=1, text="likes 7", attributes=("7",), weight=1.0, sources=sources)
    rules = (FilterRule(1.0, "Trust 7,7,7", router=7, **rule),)
    return ClientText(
        profile=Profile(ref=BOB, version=1, lines=(line,), next_id=2),
        filter_memory=FilterMemory(rules=rules),
    )


@pytest.mark.parametrize(
    "text",
    [
        written(Source(sequence=1), Source(sequence=7)),
        written(Source(router=3, version=2)),
        written(evidence=(70, 7), age=70),
        written(evidence=(70,), age=7),
    ],
)
def test_a_newer_text_that_rests_on_what_goes_clashes(text):
    with pytest.raises(VersionClash) as clash:
        check_uncited(WITHDRAWAL, [ClientText.empty(ANN), text])
    assert clash.value.ref == BOB


def test_newer_texts_that_only_hold_its_number_do_not_clash():
    others = written(
        Source(sequence=70),
        Source(router=3, version=7),
        Source(router=7, version=2),
        evidence=(70,),
    )
    check_uncited(WITHDRAWAL, [others])


def test_a_staged_checkpoint_that_is_gone_is_a_lost_lease():
    check_staged(1)
    with pytest.raises(LeaseLost, match="another checkpoint"):
        check_staged(0)
