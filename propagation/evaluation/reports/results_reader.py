"""Slices of a file that `propagation evaluate --results` wrote."""

import csv
import math
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from propagation.arrays import F64, I64, Bools
from propagation.evaluation.kernels.arms import LIVE, RANKINGS
from propagation.evaluation.protocols.metrics import Slice, compute_slices, find_median_pass
from propagation.evaluation.protocols.passes import N10, PassResult
from propagation.evaluation.reports.slice_differences import SLICED
from propagation.model import InvalidInput, Term, pluralize

ARMS = (LIVE, "knn", "offk")
LEVELS = tuple(f"{arm}.n10" for arm in ARMS)
COUNTS = ("seed", "history", "adopters")
NAMES = ("known", "user")
COLUMNS = (*NAMES, *COUNTS, *LEVELS)
LIMITS: Mapping[str, float] = {
    **dict.fromkeys(COUNTS, float(np.iinfo(np.int64).max // 2)),
    **dict.fromkeys(LEVELS, 1.0),
}
# A report of leave-one-out has the slices of `end`.
SLICED_KNOWN = ("end", "moment")
# What NumPy may raise when it reads a file that it did not write, or one that is meant to harm.
UNREADABLE = (
    BadZipFile,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
    TokenError,
    zlib.error,
)
ADVICE = "`propagation evaluate FOLDER --results FILE` writes one"


class SlicedResults(Term):
    """The slices of one pass of an evaluation.

    Args:
        file: The file's name.
        known: What was learned before the targets, "moment" or "end".
        seed: The seed of the pass, the median of `seeds`.
        targets: How many targets the pass has.
    """

    file: str
    known: str
    seed: int
    seeds: int
    targets: int
    slices: Sequence[Slice]

    @property
    def panels(self) -> Mapping[str, Sequence[Slice]]:
        """Slices that have targets, by the heading of their side."""
        return {
            heading: [part for part in self.slices if part.of == of and part.events]
            for of, heading in SLICED.items()
        }


def read_slices(path: Path) -> SlicedResults:
    """Compute the slices as the report of the same evaluation has them.

    They are of the seed whose N@10 of the live arm is the median.

    Raises:
        InvalidInput: The file has no such results.
        OSError: The file cannot be read.
    """
    targets = _read_npz(path) if path.suffix.lower() == ".npz" else _read_csv(path)
    _check_targets(path, targets)
    rows = {known: targets.known == known for known in SLICED_KNOWN}
    known = next((known for known in SLICED_KNOWN if rows[known].any()), None)
    if known is None:
        raise _refuse(path, f"has no targets with `known` {' or '.join(SLICED_KNOWN)}")
    seed = targets.numbers["seed"]
    seeds = np.unique(seed[rows[known]])
    passes = [_build_pass(targets, rows[known] & (seed == one)) for one in seeds]
    place = find_median_pass([one.select_with_past() for one in passes])
    return SlicedResults(
        file=path.name,
        known=known,
        seed=int(seeds[place]),
        seeds=len(seeds),
        targets=len(passes[place].user),
        slices=compute_slices(passes[place]),
    )


@dataclass(frozen=True)
class _Targets:
    """The columns of T targets that slices need.

    Args:
        user: [T] a number for each user.
        known: [T] words for what was learned before.
        numbers: [T] values of each column of LIMITS.
    """

    user: I64
    known: NDArray[np.str_]
    numbers: Mapping[str, F64]


def _build_pass(targets: _Targets, rows: Bools) -> PassResult:
    """Return a pass that has the columns which slices need."""
    user = targets.user[rows]
    values: F64 = np.full((len(user), len(RANKINGS), 1), np.nan)
    for arm, level in zip(ARMS, LEVELS, strict=True):
        values[:, RANKINGS.index(arm), N10] = targets.numbers[level][rows]
    past, adopters = (targets.numbers[name][rows].astype(np.int64) for name in COUNTS[1:])
    missing = np.zeros(len(user), np.int64)
    return PassResult(user, missing, values, past, adopters, missing, missing)


def _refuse(path: Path, problem: str) -> InvalidInput:
    return InvalidInput(str(path), f"{problem}; {ADVICE}")


def _check_header(path: Path, header: Sequence[str]) -> None:
    """Check that the file has all columns that slices need."""
    missing = [name for name in COLUMNS if name not in header]
    if not missing:
        return
    if not {*COLUMNS, "rank"} & set(header):
        raise _refuse(path, "is no file of results: it has none of their columns")
    arms = [name.removesuffix(".n10") for name in header if name.endswith(".n10")]
    if len(arms) == 1:
        raise _refuse(
            path,
            f"has one arm, {arms[0]}; slices compare {LIVE} with knn and with offk, so keep"
            " the columns of all three",
        )
    raise _refuse(
        path,
        f"lacks {', '.join(missing)}, which slices need: it is of an older version, was cut, or is"
        " a ranking by a language model, which has no slices",
    )


def _read_csv(path: Path) -> _Targets:
    users: dict[str, int] = {}
    user, known = array("q"), list[str]()
    numbers = {name: array("d") for name in LIMITS}
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        try:
            header = next(reader, None)
            if header is None:
                raise _refuse(path, "is empty")
            _check_header(path, header)
            places = {name: header.index(name) for name in COLUMNS}
            for row in reader:
                if len(row) != len(header):
                    raise _refuse(
                        path,
                        f"line {reader.line_num} has {pluralize(len(row), 'field')} where the"
                        f" heading has {len(header)}: the file was cut or changed",
                    )
                user.append(users.setdefault(row[places["user"]], len(users)))
                known.append(row[places["known"]])
                for name, values in numbers.items():
                    values.append(_parse(row[places[name]]))
        except UnicodeDecodeError:
            raise _refuse(path, "is no CSV file in UTF-8") from None
        except csv.Error as error:
            raise _refuse(path, f"is no CSV file that can be read ({error})") from None
    return _Targets(
        np.array(user, np.int64),
        np.array(known, np.str_),
        {name: np.array(values) for name, values in numbers.items()},
    )


def _parse(text: str) -> float:
    """Return the number, or NaN, which no column may have."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _read_npz(path: Path) -> _Targets:
    try:
        # NumPy leaves a file open that it cannot load.
        with path.open("rb") as binary:
            loaded = np.load(binary, allow_pickle=False)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise _refuse(path, "is no file of results: it has one array without a name")
            _check_header(path, loaded.files)
            columns = {name: loaded[name] for name in COLUMNS}
    except UNREADABLE:
        raise _refuse(path, "is no .npz file of NumPy, or was cut") from None
    if not all(isinstance(column, np.ndarray) for column in columns.values()):
        raise _refuse(path, "is no file of results: its parts are no arrays of NumPy")
    if len({column.shape for column in columns.values()}) > 1 or columns["user"].ndim != 1:
        raise _refuse(path, "has columns of different lengths: it was cut or changed")
    for name in LIMITS:
        if columns[name].dtype.kind not in "iuf":
            raise _refuse(path, f"has texts in {name}, which needs numbers")
    kinds = columns["known"].dtype.kind, columns["user"].dtype.kind
    if len(columns["user"]) and (kinds[0] != "U" or kinds[1] not in "Uiu"):
        raise _refuse(path, "is no file of results: `known` or `user` has no texts")
    _, user = np.unique(columns["user"], return_inverse=True)
    return _Targets(
        user.astype(np.int64),
        columns["known"].astype(np.str_),
        {name: columns[name].astype(np.float64) for name in LIMITS},
    )


def _check_targets(path: Path, targets: _Targets) -> None:
    """Check that there are targets, and that all numbers are possible."""
    if not len(targets.user):
        raise _refuse(path, "has a heading, but no targets: nothing was ranked")
    for name, most in LIMITS.items():
        values = targets.numbers[name]
        wrong = ~((values >= 0) & (values <= most))
        if wrong.any():
            allowed = f"0 to {most:g}" if name in LEVELS else "0 or more"
            raise _refuse(
                path,
                f"{name} of target {int(np.argmax(wrong)) + 1:,} is no number of {allowed}: the"
                " file was changed",
            )
