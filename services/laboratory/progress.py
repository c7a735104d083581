"""Progress of a run: parts, or calls of the estimate."""

from collections.abc import Callable, Sequence

from services.laboratory.costs import PartEstimate
from services.laboratory.model import LabModel

Show = Callable[[int, int | None, str], None]


class RunProgress:
    """Counts the calls of a run, or else its parts.

    A part that made fewer calls than estimated counts as a whole when it ends.

    Args:
        parts: In the order in which they run.
        show: Takes what is done, how much there is, and a note.
    """

    def __init__(self, parts: Sequence[PartEstimate], model: LabModel | None, show: Show) -> None:
        self._parts = parts
        self._model = model
        self._show = show
        self._total = sum(part.total for part in parts)
        self._number = self._calls = 0

    def count_part(self, number: int, total: int) -> None:
        """Record that `number` of `total` parts are done."""
        self._number, self._calls = number, 0
        if self._total:
            self._show_calls()
        else:
            self._show(number, total, "")

    def count_call(self, method: str) -> None:
        """Record a call of a method."""
        self._calls += 1
        self._show_calls()

    def _show_calls(self) -> None:
        before = sum(part.total for part in self._parts[: self._number])
        running = self._parts[self._number : self._number + 1]
        done = before + sum(min(self._calls, part.total) for part in running)
        spent = self._model.spent if self._model else 0.0
        note = "".join(f" {part.method}, seed {part.seed}" for part in running)
        self._show(done, self._total, f"{note}, {spent:.2f} spent" if spent else note)
