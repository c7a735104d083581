"""What every group is given: how long to measure, where states are kept, and a place for what
should be printed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Figures = Iterator[tuple[str, float]]


@dataclass
class Run:
    """`short`: a few seconds each, to show that the programs work. `states` [folder] stays for the
    next run, `scratch` does not. `ml100k`: the folder of MovieLens 100k; None where there is none,
    and its figures are null then."""

    short: bool
    states: Path
    scratch: Path
    ml100k: Path | None
    cds: Path | None = None
    notes: list[str] = field(default_factory=list)

    def seconds(self, full: float) -> float:
        """How long to measure what takes `full` seconds in a full run."""
        return min(full, 4.0) if self.short else full

    def note(self, text: str) -> None:
        """Said at once, and again under the table."""
        self.notes.append(text)
        print("  " + text, flush=True)
