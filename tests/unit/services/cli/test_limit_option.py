"""`-n` and `--limit` are one option in every command that has either."""

from typer.main import get_command

from services.cli.app import app


def list_options(command):
    for one in getattr(command, "commands", {}).values():
        yield from list_options(one)
    yield from (set(option.opts) for option in command.params)


def test_n_and_limit_are_one_option():
    limits = [names for names in list_options(get_command(app)) if names & {"-n", "--limit"}]
    assert len(limits) >= 8
    assert all({"-n", "--limit"} <= names for names in limits)
