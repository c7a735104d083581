"""Rate of ingest on a graph server, measured as in benchmarks/service/ingest.py.

Calls are by gRPC, in batches of 1,000. Each batch is acknowledged after its commit.
"""

from benchmarks.neo4j.server import neo4j_settings
from benchmarks.run import Figures, Run
from benchmarks.service.ingest import measured


def measure(run: Run) -> Figures:
    with neo4j_settings(run, "ingest"):
        yield "neo4j_ingest_batch_events_per_s", measured(run, "batch")
