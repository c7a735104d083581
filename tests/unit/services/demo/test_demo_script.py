"""What the demo watches."""

import json

import pytest

from propagation.datasets.generated_town import generate_town
from services.demo.data import build_folder_script, build_town_script


@pytest.mark.slow
def test_the_watched_of_the_town_take_no_part_in_the_wave():
    script, town = build_town_script(7), generate_town(7)
    assert script.wave == town.waves[-1]
    assert 0 < script.before < script.after < len(script.dataset)
    assert {town.communities[user] for user in script.watched} == {script.wave.community}
    had = {
        event.user_id
        for event in script.dataset.between(0, script.after)
        if event.item_id in script.wave.items
    }
    assert had
    assert not had & set(script.watched)
    assert script.wave.attribute not in script.list_concepts(script.watched[0])


def test_the_watched_of_a_folder_are_those_without_later_events(tmp_path):
    (tmp_path / "clients.jsonl").write_text(
        json.dumps({"kind": "item", "id": "a", "categories": ["Jazz"]}) + "\n"
    )
    users = ["early"] * 3 + ["both"] * 16 + ["late"]
    (tmp_path / "events.jsonl").write_text(
        "\n".join(json.dumps({"user_id": user, "item_id": "a"}) for user in users)
    )
    script = build_folder_script(tmp_path, 7)
    assert (script.before, script.after, script.wave) == (17, 20, None)
    assert list(script.watched) == ["early", "both"]
    assert script.list_concepts("early") == {"jazz"}
