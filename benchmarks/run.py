"""Settings of a run.

They say how long to measure, where states are kept, and which notes to print.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Figures = Iterator[tuple[str, float]]


@dataclass
class Run:
    """One run of the benchmarks.

    `short` takes a few seconds a group, to show that the programs work. The folder `states` stays
    for the next run, `scratch` does not. `ml100k` is the folder of MovieLens 100k; if None, its
    figures are null.
    """

    short: bool
    states: Path
    scratch: Path
    ml100k: Path | None
    cds: Path | None = None
    notes: list[str] = field(default_factory=list)

    def seconds(self, full: float) -> float:
        """Return how long to measure in this run.

        Args:
            full: How long a full run measures.
        """
        return min(full, 4.0) if self.short else full

    def note(self, text: str) -> None:
        """Print a note at once, and again under the table."""
        self.notes.append(text)
        print("  " + text, flush=True)
