"""Memory of a large service, and its start after kill -9.

The service has 100,000 clients, half of them items, and 1M interactions.
"""

from benchmarks.life.background import background
from benchmarks.life.states import copy_of
from benchmarks.run import Figures, Run
from benchmarks.service.reads import measured
from benchmarks.service.real_service import serving
from benchmarks.service.town import town_of_100k_clients

SECONDS = 10.0
CALLERS = 4


def measure(run: Run) -> Figures:
    """Measure the memory, and the start after a kill.

    Memory is read under load before the kill and after the start; the larger value counts.
    """
    town = town_of_100k_clients(run.short)
    database = copy_of(town, run)
    users = [f"u{row}" for row in range(town.users)]
    with serving(database) as service:
        with background(service.address, town, run, "before the kill"):
            measured(service.address, "recommend", users, CALLERS, run.seconds(SECONDS))
            used = service.rss_mb()
        service.kill()
    with serving(database) as service:
        run.note(
            f"resident memory {used:,.0f} MB after reads, {service.rss_mb():,.0f} MB after the"
            " start"
        )
        yield "start_s_100k_clients", service.start_seconds
        yield "rss_mb_100k_clients", max(used, service.rss_mb())
