"""`-n` and `--limit` are one option in every command that has either."""

from typer.main import get_command

from services.cli.app import app


def options_of(command):
    for one in getattr(command, "commands", {}).values():
        yield from options_of(one)
    yield from (set(option.opts) for option in command.params)


def test_n_and_limit_are_one_option():
    limits = [names for names in options_of(get_command(app)) if names & {"-n", "--limit"}]
    assert len(limits) >= 8
    assert all({"-n", "--limit"} <= names for names in limits)
