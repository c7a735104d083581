"""`warm_up` compiles all kernels of the service: nothing is compiled later.

Each kernel that Python calls is compiled for one signature.
"""

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import propagation.numbers

PROBE = """
import asyncio, json, sys
from services.runtime.kernel_cache import use_kernel_cache
use_kernel_cache()
from tests.unit.workflow.test_warm_up import list_signatures, run_life
from propagation.workflow.concurrency.leases import Leases
from propagation.workflow.warm_up import warm_up
warm_up()
before = list_signatures()
asyncio.run(run_life(sys.argv[1]))
print(json.dumps([before, list_signatures()]))
"""
CALLED_FROM_PYTHON = (
    "learn.learn_block",
    "mass.start_mass",
    "state_arrays.pack_neighbours",
    "state_arrays.unpack_neighbours",
    "state_arrays.refill_seen",
    "quantised_scores.follow_items",
    "quantised_scores.follow_recent",
    "quantised_scores.score_blocks",
    "rank.prepare",
    "rank.rank",
    "rank.count_adopters_by_router",
)


def list_signatures() -> dict[str, list[str]]:
    """Return the compiled signatures of every kernel of propagation.numbers."""
    found = {}
    for module in pkgutil.walk_packages(propagation.numbers.__path__, "propagation.numbers."):
        loaded = importlib.import_module(module.name)
        for name, kernel in vars(loaded).items():
            if (
                hasattr(kernel, "nopython_signatures")
                and kernel.py_func.__module__ == loaded.__name__
            ):
                found[f"{module.name.rpartition('.')[2]}.{name}"] = sorted(
                    str(types) for types in kernel.signatures
                )
    return found


async def run_life(path: str) -> None:
    """Run three engines on one database, one after another.

    Each records, learns, reasons and reads. The later ones start from blocks and from a checkpoint.
    The second one rebuilds its numbers, and the third one forgets clients.
    """
    from propagation.adapters.offline.embedder import HashedEmbedder
    from propagation.model import ClientKey, ClientKind
    from propagation.workflow.learn.rebuild import rebuild
    from propagation.workflow.read.recommend import RecommendRequest
    from propagation.workflow.replay import replay
    from tests.unit.workflow.test_replay import build_catalogue, draw_events, make_engine

    for turn in range(3):
        engine = make_engine(Path(path))
        await engine.open()
        await replay(engine, build_catalogue(), list(draw_events())[: 50 * (turn + 1)])
        for wish in (
            RecommendRequest(user_id="u1", limit=3, explain=True),
            RecommendRequest(user_id="nobody", limit=3),
            RecommendRequest(user_id="u1", limit=3, candidates=["i1", "i2"]),
            RecommendRequest(user_id="u1", limit=3, categories=("jazz",), propagate=False),
        ):
            await engine.recommender.recommend(wish)
        if turn == 1:
            await rebuild(
                engine.store,
                HashedEmbedder(engine.settings.seed),
                engine.data.create_first_view(),
                engine.leases,
            )
        if turn == 2:
            for kind, name in ((ClientKind.USER, "u1"), (ClientKind.ITEM, "i1")):
                await engine.forgetting.forget(ClientKey(kind=kind, id=name))
        await engine.close()


@pytest.mark.slow
def test_a_service_compiles_nothing_after_warm_up_and_nothing_twice(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path / "graph.db")],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout.splitlines()[-1])
    assert after == before
    assert {name: len(before[name]) for name in CALLED_FROM_PYTHON} == dict.fromkeys(
        CALLED_FROM_PYTHON, 1
    )
