"""Foreign text on a terminal: nothing in it moves the cursor, hides, or turns around."""

import json
import logging
import re
import time

import pytest
import structlog

from propagation.errors import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from services.cli.exits import ExitCode, run_command
from services.cli.query import clients, inspect, routing
from services.runtime import console
from services.runtime.console import (
    make_printable,
    print_json,
    print_table,
    print_text,
    show_progress,
)
from services.runtime.logs import configure_logging

NASTY = "\x1b]0;owned\x07\x9b2J\x7f\r\n\u202e\u2066\u200b\u200f\ufeff\U000e0041\u2028\u3164"


@pytest.fixture
def read_output(capsys):
    def check_output():
        streams = capsys.readouterr()
        assert not set(NASTY.replace("\n", "")) - set("]0;owned2J") & set(streams.out + streams.err)
        return streams.out + streams.err

    return check_output


def test_printable_escapes_each_and_keeps_words_of_any_script():
    assert make_printable(NASTY) == (
        r"\x1b]0;owned\x07\x9b2J\x7f\r\n\u202e\u2066\u200b\u200f\ufeff\U000e0041\u2028\u3164"
    )
    assert make_printable("a\ufe0fb\ufe01 1\ufe0f\u20e3") == "a\\ufe0fb\\ufe01 1\ufe0f\u20e3"
    assert (
        make_printable("Café\u00a0· 東京\u3000שלום ❤️ [red]") == "Café\u00a0· 東京\u3000שלום ❤️ [red]"
    )


@pytest.mark.parametrize(
    "joined",
    [
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f937\U0001f3fd\u200d\u2642\ufe0f",  # with a skin tone and a sign
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "\u0915\u094d\u200d\u0937",  # Hindi
    ],
)
def test_joiners_stay_where_they_join(joined):
    assert make_printable(joined) == joined


@pytest.mark.parametrize(
    "hiding", ["a\u200db", "1\u200c2", "\U0001f469\u200da", "\u200d\U0001f469"]
)
def test_joiners_that_join_nothing_are_escaped(hiding):
    assert make_printable(hiding).isprintable()
    assert "\\u200" in make_printable(hiding)


def test_lines_tables_and_their_titles(read_output):
    print_text(f"[bold]{NASTY}[/bold]")
    print_table(f"[red]{NASTY}", (f"[b]{NASTY}",), [(f"[i]{NASTY}",)])
    out = read_output()
    assert all(mark in out for mark in ("[bold]", "[red]", "[b]", "[i]"))


def test_the_name_of_an_emoji_stays_a_name(read_output):
    print_text("a :bomb: b")
    print_table(":bomb:", (":bomb:",), [(":bomb:",)])
    assert read_output().count(":bomb:") == 4


def test_json_is_escaped_and_means_the_same(read_output):
    print_json({"title": NASTY})
    assert json.loads(read_output()) == {"title": NASTY}


def test_answers_of_the_service(read_output):
    line = pb.Line(text=NASTY, author=pb.AUTHOR_RECEPTION)
    clients._print_profile(pb.GetProfileResponse(profile=pb.Profile(title=NASTY, lines=[line])))
    clients._print(
        NASTY,
        pb.RecommendResponse(
            recommendations=[pb.Recommendation(item_id=NASTY, title=NASTY)],
            unknown_candidate_ids=[NASTY],
        ),
    )
    routing._print_one(pb.GetRouterResponse(router=pb.Router(name=NASTY, text=NASTY)))
    routing._print(1, pb.TracePropagationResponse(paths=[pb.Path(text=NASTY)]))
    assert "\\x1b" in read_output()


@pytest.mark.parametrize(
    "error",
    [InvalidInput("x", NASTY), OSError(2, NASTY, NASTY), Exception(NASTY)],
)
def test_errors_that_quote_it_and_their_stack_traces(read_output, error):
    def fail():
        raise error

    assert run_command(fail, debug=True) != ExitCode.DONE
    read_output()


def test_logs(read_output):
    try:
        configure_logging("console")
        try:
            raise ValueError(NASTY)
        except ValueError:
            structlog.get_logger().exception("failed", item=NASTY)
        logging.getLogger("other").warning("about %s", NASTY)
    finally:
        structlog.reset_defaults()
        logging.getLogger().handlers.clear()
    read_output()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\uff1d1"])
def test_a_formula_in_a_csv_is_text(text):
    assert inspect._format_cell(text) == f"'{text}"


@pytest.mark.parametrize("before", ["\t", "\r", "\n", "\0", "\x1b", "\u200b", "\u202e", "\ufeff"])
def test_a_formula_behind_a_control_character_is_text(before):
    assert inspect._format_cell(f"{before}=1").startswith("\\")


def test_other_cells_stay():
    assert [inspect._format_cell(cell) for cell in (-1, 2.5, None, "a=b")] == [-1, 2.5, None, "a=b"]
    assert inspect._format_cell(NASTY).isprintable()


@pytest.mark.slow
def test_without_a_terminal_progress_is_a_line_a_minute(capsys, monkeypatch):
    monkeypatch.setattr(console, "FIRST_SECONDS", 0.1)
    monkeypatch.setattr(console, "LINE_SECONDS", 0.5)
    with show_progress("small\x1b") as progress:
        time.sleep(0.7)
        for done in range(1, 17):
            progress(10 * done, 1_000)
            time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"small\\x1b: \d s passed; nothing is counted yet", lines[0])
    estimate = re.fullmatch(
        r"small\\x1b: \d s passed; (\d+) of 1,000 done; about (\d+) s left", lines[1]
    )
    assert int(estimate[1]) <= 50, "the whole is estimated from a first part"
    assert 7 <= int(estimate[2]) <= 20
    assert 3 <= len(lines) <= 6, "then one a minute"


def test_a_short_command_logs_no_progress(capsys):
    with show_progress("short") as progress:
        progress(1, 1)
    assert capsys.readouterr().err == ""
