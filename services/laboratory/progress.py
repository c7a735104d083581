"""Progress of a run: parts, or calls of the estimate."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence

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
        self._ended: Collection[tuple[str, int]] = ()
        self._calls: Counter[str] = Counter()
        self._shown = 0

    def count_parts(self, ended: Collection[tuple[str, int]], total: int) -> None:
        """Record which of `total` parts have ended, by method and seed."""
        for method, _ in set(ended) - set(self._ended):
            self._calls[method] = 0
        self._ended = tuple(ended)
        if self._total:
            self._show_calls()
        else:
            self._show(len(ended), total, "")

    def count_call(self, method: str) -> None:
        """Record a call of a method."""
        self._calls[method] += 1
        self._show_calls()

    def _show_calls(self) -> None:
        left = [part for part in self._parts if (part.method, part.seed) not in self._ended]
        open_calls: Counter[str] = Counter()
        for part in left:
            open_calls[part.method] += part.total
        done = self._total - open_calls.total()
        done += sum(min(self._calls[method], calls) for method, calls in open_calls.items())
        self._shown = max(self._shown, done)  # seeds of one method may run side by side
        asking = [part for part in left if part.total]
        spent = self._model.spent if self._model else 0.0
        note = "".join(f" {part.method}, seed {part.seed}" for part in (asking or left)[:1])
        self._show(self._shown, self._total, f"{note}, {spent:.2f} spent" if spent else note)
