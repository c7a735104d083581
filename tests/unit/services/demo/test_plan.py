"""What the demo watches."""

import json

from propagation.datasets.generated_town import generate_town
from services.demo.data.script import plan_for


def test_the_watched_of_the_town_take_no_part_in_the_wave():
    plan, town = plan_for(None, 7), generate_town(7)
    assert plan.wave == town.waves[-1]
    assert 0 < plan.before < plan.after < len(plan.dataset)
    assert {town.communities[user] for user in plan.watched} == {plan.wave.community}
    had = {
        event.user_id
        for event in plan.dataset.between(0, plan.after)
        if event.item_id in plan.wave.items
    }
    assert had
    assert not had & set(plan.watched)
    assert plan.wave.attribute not in plan.concepts_of(plan.watched[0])


def test_the_watched_of_a_folder_are_those_without_later_events(tmp_path):
    (tmp_path / "clients.jsonl").write_text(
        json.dumps({"kind": "item", "id": "a", "categories": ["Jazz"]}) + "\n"
    )
    users = ["early"] * 3 + ["both"] * 16 + ["late"]
    (tmp_path / "events.jsonl").write_text(
        "\n".join(json.dumps({"user_id": user, "item_id": "a"}) for user in users)
    )
    plan = plan_for(tmp_path, 7)
    assert (plan.before, plan.after, plan.wave) == (17, 20, None)
    assert list(plan.watched) == ["early", "both"]
    assert plan.concepts_of("early") == {"jazz"}
