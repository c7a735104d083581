"""`propagation token`: made once and shown once, listed by name, taken back."""

import json
import stat
from datetime import UTC, datetime

import pytest
from typer.exceptions import TyperException

from services.cli.app import app
from services.client.errors import UsageProblem
from services.security.roles import Role
from services.security.tokens import find_token, read_tokens


@pytest.fixture
def run_token(tmp_path, capsys):
    def call(*arguments):
        app(
            ["token", *arguments, "--tokens", str(tmp_path / "tokens")],
            prog_name="propagation",
            standalone_mode=False,
        )
        return capsys.readouterr().out

    call.file = tmp_path / "tokens"
    return call


def test_what_is_printed_opens_and_what_is_kept_does_not(run_token):
    secret = run_token("new", "shop", "--role", "write", "--role", "read").strip()
    kept = read_tokens(run_token.file)
    assert find_token(secret, kept).roles == {Role.WRITE, Role.READ}
    assert secret.partition(".")[2] not in run_token.file.read_text()
    assert (
        find_token(kept["shop"].hashed, kept)
        is find_token(f"shop.{kept['shop'].hashed}", kept)
        is None
    )
    assert stat.S_IMODE(run_token.file.stat().st_mode) == 0o600


def test_several_are_listed_and_one_is_taken_back(run_token):
    made = json.loads(run_token("new", "shop", "--role", "write", "--json"))
    run_token("new", "desk", "--role", "analyst")
    assert json.loads(run_token("list", "--json")) == [
        {"name": "shop", "roles": ["write"], "expires": None},
        {"name": "desk", "roles": ["analyst"], "expires": None},
    ]
    revoked = run_token("revoke", "shop")
    assert f"shop is revoked in {run_token.file}; " in revoked
    assert "within two seconds" in " ".join(revoked.split())
    assert find_token(made["token"], read_tokens(run_token.file)) is None
    assert list(read_tokens(run_token.file)) == ["desk"]


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("90d", 90 * 86_400), ("12h", 12 * 3_600), ("2199-01-31T01:00:00+01:00", None)],
)
def test_a_token_is_given_an_end(run_token, given, seconds):
    made = json.loads(run_token("new", "shop", "--role", "read", "--expires", given, "--json"))
    kept = read_tokens(run_token.file)["shop"]
    assert made["expires"] == kept.expires.isoformat()
    assert json.loads(run_token("list", "--json"))[0]["expires"] == made["expires"]
    if seconds is None:
        assert made["expires"] == "2199-01-31T00:00:00+00:00"
    else:
        left = (kept.expires - datetime.now(UTC)).total_seconds()
        assert seconds - 60 < left <= seconds
    run_token("new", "desk", "--role", "read")
    assert read_tokens(run_token.file)["shop"] == kept, "it is written again as it was"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new", "Shop!", "--role", "read"), "not a valid token name"),
        (("new", "desk", "--role", "cook"), "not one of"),
        (("new", "shop", "--role", "read"), "revoke shop"),
        (
            ("new", "desk", "--role", "read", "--expires", "soon"),
            "'soon', which is no number of days or hours and no time; give 90d, 12h or",
        ),
        (
            ("new", "desk", "--role", "read", "--expires", "60s"),
            r"'60s', and 's' is not a unit; the units are d \(days\) and h \(hours\): give 90d",
        ),
        (("new", "desk", "--role", "read", "--expires", "3 Weeks"), "'Weeks' is not a unit"),
        (("new", "desk", "--role", "read", "--expires", "9999999d"), "later than the year 9999"),
        (("new", "desk", "--role", "read", "--expires", "9999999999d"), "later than the year 9999"),
        (("new", "desk", "--role", "read", "--expires", "0d"), "not in the future; give 90d"),
        (("new", "desk", "--role", "read", "--expires", "2001-01-01T00:00:00Z"), "in the future"),
        (("revoke", "nobody"), "no token named nobody"),
    ],
)
def test_wrong_use_changes_nothing_and_says_what_to_give(run_token, arguments, message):
    run_token("new", "shop", "--role", "read")
    before = run_token.file.read_bytes()
    with pytest.raises((UsageProblem, TyperException), match=message):
        run_token(*arguments)
    assert run_token.file.read_bytes() == before


def test_without_a_file_it_says_where_one_is_named(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem, match=r"server\.tokens"):
        app(["token", "list"], prog_name="propagation", standalone_mode=False)
