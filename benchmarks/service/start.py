"""Memory, and a start after kill -9, of a large service.

It has 100,000 clients and 1M interactions. Half the clients are items.
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

    The memory is the larger of that after a start and that after load.
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
        run.note(f"resident after reads {used:,.0f} MB, after the start {service.rss_mb():,.0f} MB")
        yield "start_s_100k_clients", service.start_seconds
        yield "rss_mb_100k_clients", max(used, service.rss_mb())
