"""`propagation settings`."""

from services.cli.options import AsJson, Assignments, Config, loaded
from services.runtime.console import print_json, print_table


def settings(config: Config = None, assignments: Assignments = None, json: AsJson = False) -> None:
    """What is in force, and where each value came from.

    Later wins: defaults, a preset, the settings file, the environment (PROPAGATION_SERVER__PORT for
    server.port), flags. JSON: {key: {"value", "source"}}."""
    rows = loaded(config, assignments).rows()
    if json:
        print_json({key: {"value": value, "source": source} for key, value, source in rows})
    else:
        print_table(
            "",
            ("setting", "value", "from"),
            [(key, "none" if value is None else value, source) for key, value, source in rows],
        )
