"""RecBole's fixed candidates of a user: `NAME.candidates`, a header and a line a user (ids
separated by spaces)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from propagation.model.errors import BrokenData

HEADER = ("user_id:token", "item_id_list:token_seq")


def fixed_candidates(folder: Path) -> Mapping[str, Sequence[str]] | None:
    """Items by user, in the file's order; None where the folder has no such file. Raises
    BrokenData."""
    path = next(iter(sorted(folder.glob("*.candidates"))), None)
    if path is None:
        return None
    header, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if tuple(header.split("\t")) != HEADER:
        raise BrokenData(
            path.name, 1, "", f"the header must be {' and '.join(HEADER)}, with a tab between"
        )
    out: dict[str, Sequence[str]] = {}
    for number, line in enumerate(lines, 2):
        user, tab, items = line.partition("\t")
        if not tab:
            raise BrokenData(
                path.name,
                number,
                HEADER[1],
                "there is no tab: give a user's id, a tab, and item ids",
            )
        out[user] = items.split()
    return out
