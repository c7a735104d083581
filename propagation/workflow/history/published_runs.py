"""The published runs of evolution, for questions about what became of routers."""

from propagation.model import PublishedRun, RouterSuccession
from propagation.ports import GraphStore

RUNS_A_READ = 50


class PublishedRuns:
    """Reads published runs, and keeps what never changes of them.

    Runs are only appended, so each read asks the store for newer ones alone. Another process may
    have published them.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._known: tuple[int, tuple[PublishedRun, ...]] = (0, ())

    async def load_succession(self) -> RouterSuccession:
        """Return what became of routers since the newest bootstrap."""
        bootstrap = await self._store.get_bootstrap_sequence()
        seen, known = self._known
        newest, runs = seen, list[PublishedRun]()
        limit = 1 if seen else RUNS_A_READ
        before: int | None = None
        while True:
            reports = await self._store.get_evolution_runs(limit, before)
            newest = max([newest, *(report.run for report in reports)])
            published = [one for one in reports if one.published and one.run > seen]
            runs += [PublishedRun.from_report(one) for one in published if one.sequence > bootstrap]
            if (
                len(reports) < limit
                or reports[-1].run <= seen
                or any(one.sequence <= bootstrap for one in published)
            ):
                break
            limit, before = RUNS_A_READ, reports[-1].run
        runs.reverse()
        kept = (*(one for one in known if one.sequence > bootstrap), *runs)
        self._known = newest, kept
        time = await self._store.get_time_of_next(bootstrap - 1) if bootstrap else 0
        return RouterSuccession(bootstrap, time, kept)
