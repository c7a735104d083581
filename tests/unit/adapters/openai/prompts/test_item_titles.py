"""A description names its item as people write titles, and no other item."""

import unicodedata

import pytest

from propagation.adapters.openai.prompting import find_main_title, find_named_title, is_bare_title

MOUSE = (
    "Logitech MX Master 3S - Wireless Performance Mouse with Ultra-Fast Scrolling, Ergo, 8K DPI,"
    " Track on Glass, Quiet Clicks, USB-C, Bluetooth, Windows, Linux, Graphite"
)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        (MOUSE, "Logitech MX Master 3S, a quiet wireless mouse"),
        ("Amelie (2001)", "Amélie, a tale of Paris"),
        ("Amélie (2001)", "Amelie, a tale of Paris"),
        ("Amélie", unicodedata.normalize("NFD", "Amélie wanders about")),
        ("Léon (1994)", "Leon, a killer with a plant"),
        ("Rocky II (1979)", "Rocky 2, a boxer again"),
        ("Rocky 2", "Rocky II, a boxer again"),
        ("Ocean's Eleven (2001)", "Ocean's 11, thieves with style"),
        ("Birdman or (The Unexpected Virtue of Ignorance) (2014)", "Birdman, an actor's return"),
        ("Star Trek II: The Wrath of Khan (1982)", "The Wrath of Khan, in space"),
        ("Star Wars: A New Hope (1977)", "Star Wars, a tale of space"),
        ("Good, the Bad & the Ugly, The (1966)", "The Good, the Bad and the Ugly, a western"),
        ("Se7en (1995)", "Seven, a dark thriller"),
        ("Seven (1995)", "Se7en, a dark thriller"),
        ("Shichinin no samurai (1954)", "Seven Samurai, an epic"),
        ("Postino, Il (The Postman) (1994)", "The Postman, who reads poems"),
        ("(500) Days of Summer (2009)", "500 Days of Summer, a romance told backwards"),
        ("となりのトトロ", "My Neighbor Totoro, a gentle fantasy"),
        ("となりのトトロ", "『となりのトトロ』は優しい物語"),
        ("Heat", "《Heat》是一部经典的犯罪片"),
        ("Матрица (1999)", "Поклонникам «Матрицы» и киберпанка"),
        ("Der Untergang (2004)", "Untergang: die letzten Tage"),
        ("기생충", "기생충은 가족 이야기"),
        ("It (2017)", "It, a clown in the drains"),
        ("???", "A riddle for many."),
    ],
)
def test_texts_that_name_their_item(title, text):
    assert find_named_title(text, title) == title


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("It (2017)", "With wit and style"),
        ("Rock, The (1996)", "The (1996) For all who like boxes."),
        ("(500) Days of Summer (2009)", "A romance told backwards"),
        ("Heat (1995)", "The theatre of robbers, 1995"),
        ("Der Untergang", "Für alle, die der Geschichte folgen"),
        ("爱情", "安静的爵士乐"),
        ("Кот", "Фильм, который смешит"),
        (MOUSE, "A lamp for the desk"),
    ],
)
def test_texts_that_do_not(title, text):
    assert find_named_title(text, title) is None


@pytest.mark.parametrize(
    ("title", "others", "text", "is_own"),
    [
        (
            "Godfather, The (1972)",
            ["Scarface"],
            "The Godfather, a mafia epic for those who like Scarface",
            True,
        ),
        ("Toy Story", ["Toy Story 2"], "Toy Story 2, with a cowgirl", False),
        ("Toy Story", ["Toy Story 2"], "Toy Story, before Toy Story 2", True),
        ("Toy Story", ["Heat"], "Heat, a story of robbers", False),
        ("となりのトトロ", ["Heat"], "Heat, robbers at night", False),
        (
            "Star Trek: The Wrath of Khan",
            ["Star Trek: First Contact"],
            "Star Trek: First Contact, with the Borg",
            False,
        ),
        ("Alien", ["Amélie"], unicodedata.normalize("NFD", "Amélie wanders"), False),
    ],
)
def test_a_text_that_names_another_item_names_its_own_too_or_is_refused(
    title, others, text, is_own
):
    assert find_named_title(text, title, others) == (title if is_own else others[0])


def test_a_main_title_has_only_the_brackets_that_it_begins_with():
    assert find_main_title("Heat (1995)") == "Heat"
    assert find_main_title("(500) Days of Summer (2009)") == "(500) Days of Summer"


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Toy Story (1995)", True),
        ("The movie Toy Story.", True),
        ("toy storys", True),
        ("Toy Story, a film of toys that live", False),
        ("Toy Story for toddlers", False),
        ("Drama", False),
    ],
)
def test_a_description_that_is_only_the_title(text, bare):
    assert is_bare_title(text, "Toy Story (1995)") is bare
    assert not is_bare_title(text, ""), "an item without a title, or a user"
