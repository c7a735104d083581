"""One run of the benchmarks: its durations, folders and notes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Figures = Iterator[tuple[str, float]]


@dataclass
class Run:
    """One run of the benchmarks.

    Attributes:
        short: Takes a few seconds for each group, only to show that the programs work.
        states: The folder of generated databases, which are kept for the next run.
        scratch: A folder that is removed after the run.
        ml100k: The folder of MovieLens 100k; None: its figures are null.
        cds: The folder of cds-dense; None: ../shared/datasets/cds-dense.
        notes: All notes so far.
    """

    short: bool
    states: Path
    scratch: Path
    ml100k: Path | None
    cds: Path | None = None
    notes: list[str] = field(default_factory=list)

    def seconds(self, full: float) -> float:
        """Return for how many seconds this run measures.

        Args:
            full: The seconds of a full run; a short run takes at most two.
        """
        return min(full, 2.0) if self.short else full

    def note(self, text: str) -> None:
        """Print a note and keep it in `notes`."""
        self.notes.append(text)
        print("  " + text, flush=True)
