"""The three formats of MovieLens, on generated files."""

import gzip

import pytest

from propagation.datasets.load import load_dataset
from propagation.datasets.movielens import fold_title, reorder_title
from propagation.model import BrokenData

SEED = 7
FLAGS = "0|" * 5 + "1|" + "0|" * 12 + "0"


@pytest.fixture
def movielens_100k(tmp_path):
    (tmp_path / "u.item").write_bytes(
        (
            f"1|Usual Suspects, The (1995)|01-Jan-1995|||{FLAGS}\r\n\r\n2|Misérables, Les "
            f"(1995)|01-Jan-1995||x|{FLAGS}\n"
        ).encode("latin-1")
    )
    (tmp_path / "u.data").write_text("5\t1\t3\t20\n6 2 4\t10\n\n5\t2\t1\t10\n")
    (tmp_path / "u.user").write_text("5|24|M|technician|85711\n")
    (tmp_path / "descriptions.csv").write_text(
        'id,title,genre,description\n0,The Usual Suspects,x,"<Usual Suspects > is, say, a '
        '""heist"" film."\n'
    )
    return tmp_path


def test_100k_is_read_whole(movielens_100k):
    data = load_dataset(movielens_100k, SEED)
    assert [(item.title, item.categories) for item in data.items] == [
        ("The Usual Suspects (1995)", ("Comedy",)),
        ("Les Misérables (1995)", ("Comedy",)),
    ]
    assert data.items[0].description == 'Usual Suspects is, say, a "heist" film.'
    assert data.items[0].metadata == {"year": "1995"}
    assert {user.key.id for user in data.users} == {"5", "6"}
    assert data.users[0].metadata == {"age": "24", "gender": "M", "occupation": "technician"}
    *tied, last = data.events
    assert {(event.user_id, event.item_id, event.time) for event in tied} == {
        ("6", "2", 10_000),
        ("5", "2", 10_000),
    }
    assert (last.user_id, last.item_id, last.event_id, last.metadata) == (
        "5",
        "1",
        "ml-100k:5:1:20000",
        {"rating": "3"},
    )


@pytest.mark.parametrize(
    ("file", "text", "line", "field"),
    [
        ("u.data", "5\t1\t3\t20\n5\t1\tgood\t20\n", 2, "rating"),
        ("u.data", "5\t1\t3\n", 1, "timestamp"),
        ("u.data", "5\t1\t3\t-1\n", 1, "timestamp"),
        ("u.data", "5\t1\tnan\t1\n", 1, "rating"),
        ("u.data", "1\t2\t3\t4\t5\n", 1, "timestamp"),
        ("u.user", "5|24|M|technician|85711\n\n5|24|M|technician|85711\n", 3, "user id"),
        ("u.item", f"1|A|||{FLAGS}\n", 1, "Western"),
        ("u.item", f"1|A||||{FLAGS[:-1]}7\n", 1, "Western"),
        ("u.genre", "Drama|x\n", 1, "number"),
    ],
)
def test_a_broken_line_names_file_line_and_field(movielens_100k, file, text, line, field):
    (movielens_100k / file).write_text(text)
    with pytest.raises(BrokenData) as refusal:
        load_dataset(movielens_100k, SEED)
    assert (refusal.value.file, refusal.value.line, refusal.value.field) == (file, line, field)
    assert "\n" not in str(refusal.value)


def test_dat_files_in_latin_1_or_utf_8(tmp_path):
    (tmp_path / "movies.dat").write_bytes(
        "1::Città::aperta (1945)::Drama|War\n".encode("latin-1")
        + "2::Amélie (2001)::Comedy\n".encode()
    )
    (tmp_path / "ratings.dat").write_text("1::2::4.5::978300760\n")
    (tmp_path / "users.dat").write_text("1::F::1::10::48067\n")
    (tmp_path / "tags.dat").write_text(
        "1::2::Paris::978300760\n2::2::paris::978300761\n3::2::odd::978300762\n"
    )
    data = load_dataset(tmp_path, SEED)
    assert [(item.title, item.categories, item.attributes) for item in data.items] == [
        ("Città::aperta (1945)", ("Drama", "War"), None),
        ("Amélie (2001)", ("Comedy",), ("paris",)),
    ]
    assert data.users[0].metadata == {"gender": "F", "age": "1", "occupation": "10"}
    assert [event.metadata for event in data.events] == [{"rating": "4.5"}]


@pytest.fixture
def movielens_latest(tmp_path):
    with gzip.open(tmp_path / "movies.csv.gz", "wt", encoding="utf-8-sig", newline="") as file:
        file.write(
            'movieId,title,genres\r\n1,"American President, The (1995)",Comedy|Drama\r\n'
            '2,"Say ""Yes"" (2020)",(no genres listed)\r\n'
        )
    (tmp_path / "ratings.csv").write_text(
        "rating,timestamp,userId,movieId\n4.0,100,7,1\n\n3.5,50,7,99\n"
    )
    return tmp_path


def test_csv_files_in_any_order_of_columns(movielens_latest):
    data = load_dataset(movielens_latest, SEED)
    assert [item.title for item in data.items] == [
        "The American President (1995)",
        'Say "Yes" (2020)',
        None,
    ]
    assert data.items[1].categories is None
    assert [event.item_id for event in data.events] == ["99", "1"]
    assert any("not in the catalogue: 1." in note for note in data.notes)


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("userId,movieId,rating\n", 1, "timestamp"),
        ("userId,movieId,rating,timestamp\n7,1,4.0\n", 2, "timestamp"),
        ("userId,movieId,rating,timestamp\n7,,4.0,1\n", 2, "movieId"),
        ("userId,movieId,rating,timestamp\n7,1,x,1\n", 2, "rating"),
        ('userId,movieId,rating,timestamp\n7,"1"x,4.0,1\n', 2, "userId"),
    ],
)
def test_a_broken_csv_line_names_file_line_and_field(movielens_latest, text, line, field):
    (movielens_latest / "ratings.csv").write_text(text)
    with pytest.raises(BrokenData) as refusal:
        load_dataset(movielens_latest, SEED)
    assert (refusal.value.file, refusal.value.line, refusal.value.field) == (
        "ratings.csv",
        line,
        field,
    )


def test_titles_meet_over_articles_accents_and_years():
    assert reorder_title("Vie en rose, La (1997)") == "La Vie en rose (1997)"
    assert fold_title("Misérables, Les (1995)") == fold_title("Les Miserables")
    assert fold_title("Alien (1979)") != fold_title("Aliens (1986)")


def test_what_100k_does_not_know_is_neither_a_genre_nor_a_title(movielens_100k):
    (movielens_100k / "u.item").write_text(
        f"267|unknown||||1|{'0|' * 17}0\n268|The Unknown (1927)||||1|{'0|' * 17}0\n"
    )
    first, second = load_dataset(movielens_100k, SEED).items[:2]
    assert (first.key.id, first.title, first.categories) == ("267", None, None)
    assert (second.title, second.categories) == ("The Unknown (1927)", None)
