"""RecBole atomic files, made here."""

import pytest

from propagation.datasets.load import load_dataset
from propagation.model import BrokenData

SEED = 7


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_fields_in_any_order_and_texts_clean(tmp_path):
    write(
        tmp_path,
        shop__item="category:token_seq\tprice:float\ttitle:token_seq\titem_id:token\n"
        'R&amp;B; Soul; R&B\t9.5\tTom &amp;amp; Jerry "live"\t7\nJazz\t\t<span class="x"\t8\n',
        shop__inter="timestamp:float\titem_id:token\tuser_id:token\trating:float\n2.5\t7\tu\t5\n1549670400000\t8\tu\t\n",
    )
    data = load_dataset(tmp_path, SEED)
    first, second = data.items
    assert (first.title, first.categories, first.metadata) == (
        'Tom & Jerry "live"',
        ("R&B", "Soul"),
        {"price": "9.5"},
    )
    assert (second.title, second.categories, second.metadata) == (None, ("Jazz",), None)
    assert [(event.time, event.metadata) for event in data.events] == [
        (2_500, {"rating": "5"}),
        (1_549_670_400_000, {}),
    ]


def test_recboles_own_lists_are_parted_by_spaces(tmp_path):
    write(
        tmp_path,
        ml__item=(
            "item_id:token\tmovie_title:token_seq\tclass:token_seq\n1\tToy Story\tAnimation "
            "Comedy\n"
        ),
    )
    assert load_dataset(tmp_path, SEED).items[0].categories == ("Animation", "Comedy")


def test_several_prefixes_and_no_times(tmp_path):
    write(
        tmp_path,
        a__train__inter="user_id:token\titem_id:token\nu\t1\n",
        a__test__inter="user_id:token\titem_id:token\nu\t2\n",
        b__item="item_id:token\tname:token\n1\tOne\n",
        c__item="item_id:token\tdescription:token_seq\n1\tThe first.\n",
        b__user="user_id:token\tage:float\nv\t30\n",
    )
    data = load_dataset(tmp_path, SEED)
    assert (data.items[0].title, data.items[0].description) == ("One", "The first.")
    assert sorted(event.event_id for event in data.events) == ["recbole:u:1:0", "recbole:u:2:0"]
    assert {user.key.id for user in data.users} == {"u", "v"}
    assert any("no time field" in note for note in data.notes)


@pytest.mark.parametrize(
    ("kind", "date"),
    [
        ("token", "1970-01-02"),
        ("token", "1970-01-02T00:00:00Z"),
        ("token", "86400"),
        ("float", "86400.0"),
    ],
)
def test_a_date_is_seconds_or_iso_8601(tmp_path, kind, date):
    write(tmp_path, a__inter=f"user_id:token\titem_id:token\tdate:{kind}\nu\t1\t{date}\n")
    assert [event.time for event in load_dataset(tmp_path, SEED).events] == [86_400_000]


def test_a_catalogue_alone_has_no_events(tmp_path):
    write(tmp_path, c__item="item_id:token\ttitle:token_seq\n1\tOne\n")
    data = load_dataset(tmp_path, SEED)
    assert (len(data), len(data.items), list(data.users), list(data.events)) == (0, 1, [], [])


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("", 1, "heading"),
        ("user_id\titem_id:token\n", 1, "user_id"),
        ("user_id:text\titem_id:token\n", 1, "user_id:text"),
        ("user_id:token\tbought:float\n", 1, "item_id"),
        ("user_id:token\tuser_id:token\n", 1, "user_id"),
        ("user_id:token\titem_id:token\ttimestamp:float\nu\t1\t1\n\nu\t1\n", 4, "timestamp"),
        ("user_id:token\titem_id:token\ttimestamp:float\nu\t1\tsoon\n", 2, "timestamp"),
        ("user_id:token\titem_id:token\ttimestamp:float\nu\t1\t\n", 2, "timestamp"),
        ("user_id:token\titem_id:token\trating:float\nu\t1\tinf\n", 2, "rating"),
        ("user_id:token\titem_id:token\tv:float_seq\nu\t1\t1 x\n", 2, "v"),
        ("user_id:token\titem_id:token\nu\t\n", 2, "item_id"),
        (f"user_id:token\titem_id:token\nu\t{'i' * 257}\n", 2, "item_id"),
    ],
)
def test_a_broken_line_names_file_line_and_field(tmp_path, text, line, field):
    write(tmp_path, x__inter=text)
    with pytest.raises(BrokenData) as refusal:
        load_dataset(tmp_path, SEED)
    assert (refusal.value.file, refusal.value.line, refusal.value.field) == ("x.inter", line, field)


def test_a_folder_without_known_files_says_what_is_known(tmp_path):
    with pytest.raises(BrokenData, match="MovieLens"):
        load_dataset(tmp_path, SEED)
    with pytest.raises(BrokenData, match="not a folder"):
        load_dataset(tmp_path / "none", SEED)


@pytest.mark.parametrize(
    ("file", "heading", "field"),
    [
        ("x.inter", "uid:token\titem_id:token\n", "user_id"),
        ("x.inter", "user_id:token\tiid:token\n", "item_id"),
        ("x.item", "uid:token\ttitle:token_seq\n", "item_id"),
        ("x.user", "uid:token\tage:float\n", "user_id"),
    ],
)
def test_a_heading_without_the_expected_name_is_refused(tmp_path, file, heading, field):
    write(tmp_path, **{"x__item": "item_id:token\n1\n", file.replace(".", "__"): heading})
    with pytest.raises(BrokenData) as refusal:
        load_dataset(tmp_path, SEED)
    assert (refusal.value.file, refusal.value.line, refusal.value.field) == (file, 1, field)


def test_unknown_alone_is_no_category_and_beside_others_it_is_meant(tmp_path):
    write(
        tmp_path,
        x__item="item_id:token\tclass:token_seq\n1\tunknown\n2\tunknown pleasures\n3\tjazz\n",
    )
    assert [item.categories for item in load_dataset(tmp_path, SEED).items] == [
        None,
        ("unknown", "pleasures"),
        ("jazz",),
    ]


def test_a_title_that_the_service_would_refuse_names_its_place(tmp_path):
    write(tmp_path, x__item=f"item_id:token\ttitle:token_seq\n1\tgood\n2\t{'x' * 8_001}\n")
    with pytest.raises(BrokenData, match="8001 characters long; at most 8000") as refusal:
        load_dataset(tmp_path, SEED)
    assert (refusal.value.file, refusal.value.line, refusal.value.field) == ("x.item", 3, "title")


def test_items_that_only_a_sequence_names_are_counted(tmp_path):
    write(
        tmp_path,
        s__inter="session_id:token\titem_id_list:token_seq\titem_id:token\ttimestamp:float\n"
        "u\ta\tb\t1\nu\ta b\tc\t2\nv\tb\td\t1\n",
    )
    data = load_dataset(tmp_path, SEED)
    assert len(data) == 3
    (note,) = [note for note in data.notes if "left out" in note]
    assert note.startswith("s.inter: 2 events left out")
    assert "item_id_list" in note
