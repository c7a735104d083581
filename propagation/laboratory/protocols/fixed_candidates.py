"""Candidates that a file names, for protocols that draw."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from propagation.arrays import I64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.protocols.candidates import FixedCandidates
from propagation.laboratory.protocols.drawn_negatives import DrawnNegatives
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.protocols.one_of_twenty import OneOfTwenty
from propagation.laboratory.protocols.protocol import Protocol
from propagation.laboratory.protocols.ranking_bias import RankingBias


def draws(protocol: Protocol) -> bool:
    """Return whether a protocol can draw among a file's candidates."""
    return isinstance(protocol, DrawnNegatives | LeaveOneOut | OneOfTwenty | RankingBias)


def draw_among(protocol: Protocol, fixed: FixedCandidates) -> Protocol:
    """Return a protocol that draws among these candidates only.

    Args:
        protocol: One for which `draws` is true.
    """
    if isinstance(protocol, DrawnNegatives | LeaveOneOut | OneOfTwenty | RankingBias):
        return replace(protocol, fixed=fixed)
    raise TypeError(f"{type(protocol).__name__} draws no candidates from a file")


def find_rows(
    dataset: Dataset, candidates: Mapping[str, Sequence[str]]
) -> tuple[FixedCandidates, int]:
    """Find the rows of candidates that a file names.

    Args:
        candidates: Items' ids by users' ids; others than the dataset's users are left out.

    Returns:
        The candidates, and how many are not in the catalogue.
    """
    row_of = {item.key.id: row for row, item in enumerate(dataset.items)}
    fixed: dict[int, I64] = {}
    missing = 0
    for user, client in enumerate(dataset.users):
        named = candidates.get(client.key.id, ())
        known = [row_of[one] for one in named if one in row_of]
        missing += len(named) - len(known)
        fixed[user] = np.array(known, np.int64)
    return fixed, missing
