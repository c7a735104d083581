"""RecBole's fixed candidates: `NAME.candidates`, with one line of item ids for each user."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from propagation.model.errors import BrokenData

HEADER = ("user_id:token", "item_id_list:token_seq")


def fixed_candidates(folder: Path) -> Mapping[str, Sequence[str]] | None:
    """Read the candidates of each user, in the order of the file.

    Returns:
        Item ids by user; None if the folder has no such file.

    Raises:
        BrokenData: The first line that cannot be read.
    """
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
