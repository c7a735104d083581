"""Eq. 9: edits of profiles and filter memories from an interaction."""

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import Author, ClientText, ReasonerFailed
from propagation.optimization.client_optimization import apply_optimization, drop_rules
from propagation.ports import OptimizeAnswer
from tests.unit.parties import (
    NEGATIVE,
    heard_line,
    item,
    line,
    message,
    party,
    user,
    work,
)


async def optimize(one, other, reward=1):
    text = ClientText(profile=one.profile, filter_memory=one.filter_memory, watermark=4, dropped=2)
    return apply_optimization(
        text, await OfflineReasoner().optimize(work(), reward, one, other), 12
    )


async def test_a_choice_becomes_a_line_that_cites_its_interaction():
    found = await optimize(party(user()), party(item()))
    [one] = found.profile.lines
    assert one.attributes == ("jazz",)
    assert "“Kind of Blue”" in one.text
    assert [source.sequence for source in one.sources] == [50]
    assert (found.profile.version, found.watermark, found.dropped) == (2, 4, 2)


async def test_without_a_filter_memory_an_answer_keeps_its_edits_and_loses_its_rules():
    heard = heard_line(1, 3, "jazz")
    answer = await OfflineReasoner().optimize(work(), 0, party(user(), heard), party(item()))
    assert answer.rules
    assert drop_rules(answer) == OptimizeAnswer(edits=answer.edits)
    failed = ReasonerFailed("no answer")
    assert drop_rules(failed) is failed


async def test_a_second_choice_makes_the_line_stronger_by_one_after_decay():
    found = await optimize(party(user(), line(1, "jazz", weight=2.0)), party(item()))
    [one] = found.profile.lines
    assert (one.id, one.weight) == (1, 2.0 * 0.95 + 1)


async def test_what_was_heard_gains_when_borne_out_fades_when_not_and_leaves_when_stale():
    told = (
        heard_line(1, 3, "jazz"),
        heard_line(2, 4, "opera"),
        heard_line(3, 5, "folk", weight=0.15),
    )
    found = await optimize(party(user(), *told), party(item()))
    weights = {
        one.attributes: round(one.weight, 6)
        for one in found.profile.lines
        if one.author == Author.RECEPTION
    }
    assert weights == {("jazz",): 0.5, ("opera",): round(0.4 * 0.97, 6)}


async def test_a_right_prediction_confirms_the_router_that_spoke_of_the_choice():
    one = party(user(), line(1, "jazz"), heard_line(2, 3, "jazz"), messages=(message(3, "jazz"),))
    [rule] = (await optimize(one, party(item()), reward=1)).filter_memory.rules
    assert (rule.router, rule.factor, rule.evidence, rule.age) == (3, 1.25, (50,), 50)
    assert rule.text.startswith("Welcome what the community of router 3")


async def test_a_wrong_prediction_doubts_the_router_that_spoke_of_something_else():
    one = party(user(), line(1, "jazz"), heard_line(2, 3, "opera"), messages=(message(3, "opera"),))
    [rule] = (await optimize(one, party(item()), reward=0)).filter_memory.rules
    assert (rule.router, rule.factor) == (3, 0.8)


async def test_news_that_led_to_a_first_choice_is_worth_more():
    rules = (
        await optimize(party(user(), heard_line(1, 3, "jazz")), party(item()))
    ).filter_memory.rules
    assert [(rule.attribute, rule.factor) for rule in rules] == [("jazz", 1.25)]


async def test_an_item_learns_who_chose_it_and_nothing_that_a_user_says_of_itself():
    secret = line(1, "lives in smalltown", author=Author.CATALOGUE, weight=9.0)
    found = await optimize(party(item()), party(user(), secret, line(2, "soul", weight=1.0)))
    assert found.profile.lines[-1].attributes == ("soul",)
    assert "smalltown" not in str(found.profile.lines)


async def test_an_item_rightly_passed_over_stays_as_it_is():
    one = party(item(NEGATIVE), heard_line(1, 3, "opera"))
    text = ClientText(profile=one.profile)
    answer = await OfflineReasoner().optimize(work(), 1, one, party(user()))
    assert apply_optimization(text, answer, 12) is text


def test_a_failed_part_changes_nothing():
    text = ClientText(profile=party(user(), line(1, "jazz")).profile)
    assert apply_optimization(text, ReasonerFailed("not JSON"), 12) is text
