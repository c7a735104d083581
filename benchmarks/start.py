"""Memory, and a start after kill -9, with 1M interactions. The state is that of the reads, 150,000 clients: harder than the
100,000 that the figures are named for, and built once."""

from benchmarks.background import background
from benchmarks.reads import measured
from benchmarks.run import Figures, Run
from benchmarks.service import serving
from benchmarks.states import copy_of
from benchmarks.town import catalogue_town

SECONDS = 10.0
CALLERS = 4


def measure(run: Run) -> Figures:
    """Memory is the larger of after the second start and after reads and events; the start is that after the kill."""
    town = catalogue_town(run.short)
    database = copy_of(town, run)
    users = [f"u{row}" for row in range(town.users)]
    with serving(database) as service:
        with background(service.address, town, run, "before the kill"):
            measured(service.address, "recommend", users, CALLERS, run.seconds(SECONDS))
            used = service.rss_mb()
        service.kill()
    with serving(database) as service:
        run.note(f"resident after reads {used:,.0f} MB, after the start {service.rss_mb():,.0f} MB")
        yield "start_s_100k_clients", service.start_seconds
        yield "rss_mb_100k_clients", max(used, service.rss_mb())
