"""The settings reference of the site says what every setting means."""

import re

from docs.reference import settings_page

# Setting, type, default, meaning; a cell writes its own bars as "\|".
ROW = re.compile(r"^\| `([^`]+)` \| .* \| `[^`]*` \| (.*) \|$")
# The limits of a value, which every row with limits has, are no meaning.
LIMITS = re.compile(r"\((at least|at most|above|below|matches) .*\)$")


def test_every_setting_has_a_meaning() -> None:
    rows = [line for line in settings_page() if line.startswith("| `")]
    found = [row.groups() for line in rows if (row := ROW.match(line))]

    assert len(found) == len(rows) > 0
    assert [name for name, meaning in found if not LIMITS.sub("", meaning).strip()] == []
