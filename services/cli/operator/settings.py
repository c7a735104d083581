"""`propagation settings`: the settings in force."""

from services.cli.options import AsJson, Assignments, Config, load_settings
from services.runtime.console import print_json, print_table


def settings(config: Config = None, assignments: Assignments = None, json: AsJson = False) -> None:
    """Show the settings in force, and where each value comes from.

    Later sources win: defaults, a preset, the settings file, the environment
    (PROPAGATION_SERVER__PORT for server.port), flags.

    JSON: {key: {"value", "source"}}.
    """
    rows = load_settings(config, assignments).rows()
    if json:
        print_json({key: {"value": value, "source": source} for key, value, source in rows})
    else:
        print_table(
            "",
            ("setting", "value", "from"),
            [(key, "none" if value is None else value, source) for key, value, source in rows],
        )
