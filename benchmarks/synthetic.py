"""A generated catalogue, its users and their events: Zipf popularity, planted communities; built once and kept on disk.

Nothing in it is real. Sizes, seed and the kernels' sources name the file, so that a stale state is never used."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propagation.model.learned import Checkpoint
from propagation.model.log import Interactions
from propagation.workflow.checkpointing import restored, snapshot
from propagation.workflow.view import NumbersView, seeded_directions

CACHE = Path(".cache") / "bench"
BLOCK = 256
HOME_SHARE = 0.7
CONTENT_NOISE = 0.8
READERS = ("read.py", "sketch.py")


@dataclass(frozen=True)
class Town:
    """Sizes of a generated state. Users prefer items of their own community with probability .7; popularity is Zipf 1."""

    users: int = 50_000
    items: int = 100_000
    interactions: int = 1_000_000
    communities: int = 40
    dimension: int = 48
    routers: int = 80
    seed: int = 7


def vectors_of(town: Town) -> NDArray[np.float32]:
    """[items, D] unit content vectors, noisy around their community's direction; community of item i is i mod communities."""
    centres = seeded_directions(town.communities, town.dimension, town.seed)
    noise = seeded_directions(town.items, town.dimension, town.seed + 1)
    vectors = centres[np.arange(town.items) % town.communities] + np.float32(CONTENT_NOISE) * noise
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def events_of(town: Town, count: int, seed: int) -> Interactions:
    """`count` events: users uniform, items Zipf 1 inside the user's community or over all items; sequences from 1."""
    rng = np.random.default_rng(seed)
    users = rng.integers(0, town.users, count)
    ranks = np.minimum(np.exp(rng.random(count) * np.log(town.items + 1)).astype(np.int64) - 1, town.items - 1)
    home = (ranks // town.communities * town.communities + users % town.communities) % town.items
    items = np.where(rng.random(count) < HOME_SHARE, home, ranks)
    return Interactions(sequence=np.arange(1, count + 1), user=users, item=items, negative=np.full(count, -1, np.int64),
                        weight=np.ones(count), seed=rng.integers(0, 1 << 63, count).astype(np.uint64))


def blocks_of(events: Interactions, size: int = BLOCK) -> Iterator[Interactions]:
    """The same events in learn blocks."""
    for start in range(0, len(events), size):
        part = slice(start, start + size)
        yield Interactions(sequence=events.sequence[part], user=events.user[part], item=events.item[part],
                           negative=events.negative[part], weight=events.weight[part], seed=events.seed[part])


def built(town: Town) -> NumbersView:
    """The state learned from nothing: some 100 us an event."""
    centres = (seeded_directions(town.routers, town.dimension, town.seed + place) for place in (2, 3))
    view = NumbersView(next(centres), next(centres), town.seed, epoch=0)
    view.add_users(town.users)
    for row, vector in enumerate(vectors_of(town)):
        view.set_item(row, vector, vector, visible=True)
    for block in blocks_of(events_of(town, town.interactions, town.seed)):
        view.learn(block, int(block.sequence[-1]))
    return view


def view_of(town: Town, cache: Path = CACHE) -> NumbersView:
    """The learned state, from disk where it was built before."""
    path = cache / f"town-{_digest(town)}.npz"
    if path.exists():
        with np.load(path) as stored:
            arrays = dict(stored.items())
        sequence = int(arrays.pop("sequence"))
        return restored(Checkpoint(sequence=sequence, epoch=0, barrier=False, arrays=arrays), town.seed)
    view = built(town)
    cache.mkdir(parents=True, exist_ok=True)
    arrays = snapshot(view, barrier=False).arrays
    np.savez(path, sequence=np.int64(view.applied_through), **arrays)  # type: ignore[arg-type]
    return view


def _digest(town: Town) -> str:
    digest = hashlib.blake2b(repr(asdict(town)).encode(), digest_size=8)
    sources = sorted((Path(__file__).parent.parent / "propagation" / "numbers").glob("*.py"))
    for source in (Path(__file__), *(path for path in sources if path.name not in READERS)):
        digest.update(source.read_bytes())
    return digest.hexdigest()
