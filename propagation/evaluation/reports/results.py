"""Files with every target's result, to compare other programs with."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propagation.datasets.dataset import Dataset
from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.numbers_ranking import Keep
from propagation.evaluation.protocols.passes import PassResult
from propagation.evaluation.protocols.reasoner_ranking import RankedTarget, compute_gain_at

MEASURE_NAMES = ("n10", "hr1", "n10_matched", "rank", "n10_of_100", "n10_fixed", "n10_of_all_fixed")


class Results:
    """Rows of targets, collected in parts of equal columns.

    Files are CSV, which every program reads, or NumPy's npz, which keeps types and loads a column
    at a time. Neither format needs a further library.
    """

    def __init__(self) -> None:
        self.parts: list[Mapping[str, NDArray[np.generic]]] = []

    def add_targets(self, draw: str, ranked: Sequence[RankedTarget]) -> None:
        """Add the targets of a reasoner's draw."""
        self.parts.append(
            {
                "draw": np.full(len(ranked), draw),
                "user": np.array([one.target.user for one in ranked]),
                "item": np.array([one.target.item for one in ranked]),
                "negatives": np.array([len(one.target.others) for one in ranked]),
                "rank": np.array([one.rank for one in ranked]),
                "n10": np.array([compute_gain_at(one.rank, 10) for one in ranked]),
                "by_numbers": np.array([one.by_numbers for one in ranked]),
            }
        )

    def write(self, path: Path) -> None:
        """Write all rows as npz if the path ends so, else CSV.

        Raises:
            OSError: The file cannot be written.
        """
        columns = {
            name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]
        }
        if path.suffix.lower() == ".npz":
            with path.open("wb") as binary:
                np.savez_compressed(binary, allow_pickle=False, **columns)
            return
        with path.open("w", encoding="utf-8", newline="") as text:
            writer = csv.writer(text)
            writer.writerow(columns)
            writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def keep_in(results: Results, dataset: Dataset) -> Keep:
    """Return a function that adds ranked events of the dataset to `results`."""
    users, items, times = dataset.rows()
    user_ids = np.array([client.key.id for client in dataset.users])
    item_ids = np.array([client.key.id for client in dataset.items])

    def keep(seed: int, known: str, ranked: PassResult) -> None:
        event = ranked.event
        results.parts.append(
            {
                "seed": np.full(len(event), seed),
                "known": np.full(len(event), known),
                "user": user_ids[users[event]],
                "item": item_ids[items[event]],
                "time": times[event],
                "event": event,
                "history": ranked.past,
                "adopters": ranked.adopters,
                "negatives": ranked.negatives,
                **{
                    f"{name}.{measure}": ranked.values[:, arm, place]
                    for arm, name in enumerate(RANKINGS)
                    for place, measure in enumerate(MEASURE_NAMES[: ranked.values.shape[2]])
                },
            }
        )

    return keep
