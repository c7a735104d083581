"""The list of a database's back-ups, in a file beside it.

A back-up only reads the database, because one process alone may write it. So the list is a file of
its own, with a JSON line for each back-up, oldest first.
"""

import logging
import os
from pathlib import Path

from pydantic import ValidationError

from propagation.model import Backup

ENDING = ".backups"
BACKUPS_KEPT = 1_000
log = logging.getLogger(__name__)


def find_backup_list(database: Path) -> Path:
    """Return the path of the list; the file need not exist."""
    return database.with_name(database.name + ENDING)


def note_backup(database: Path, backup: Backup) -> None:
    """Add a back-up to the list.

    The back-up is complete by then, so a list that cannot be written is only logged.
    """
    listed = find_backup_list(database)
    try:
        _require_file(listed)
        # One short write at the end of the file: two commands at once lose no line. The line
        # break comes first, so that a line that was cut short does not swallow this one.
        with open(listed, "a", encoding="utf-8", opener=_open_for_this_user) as file:
            file.write("\n" + backup.model_dump_json())
        kept = listed.read_text(encoding="utf-8").split("\n")
        if len(kept) > 2 * BACKUPS_KEPT:
            listed.write_text("\n".join(kept[-BACKUPS_KEPT:]), encoding="utf-8")
    except (OSError, UnicodeError) as error:
        log.warning("the back-up is complete, but %s cannot be written: %s", listed, error)


def _require_file(listed: Path) -> None:
    """Raise OSError if something else is there.

    A pipe would be read for ever.
    """
    if listed.exists() and not listed.is_file():
        raise OSError("it is no file")


def _open_for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def read_backups(database: Path) -> list[Backup]:
    """Read the newest BACKUPS_KEPT back-ups, oldest first.

    A line that a killed command cut short is left out. A list that cannot be read is logged.
    """
    listed = find_backup_list(database)
    try:
        _require_file(listed)
        lines = listed.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("%s cannot be read: %s", listed, error)
        return []
    found = []
    for line in lines.split("\n")[-BACKUPS_KEPT:]:
        try:
            found.append(Backup.model_validate_json(line))
        except ValidationError:
            continue
    return sorted(found, key=lambda backup: backup.time)
