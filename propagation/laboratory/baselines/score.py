"""Baselines from Cornac, implicit and RecTools, in the environment of `make baselines`.

Usage: python score.py METHOD FOLDER SEED. FOLDER holds history.npz and questions.npz; scores.npy is
written there (methods/program.py). This file imports nothing of the project.

The parameters were chosen on MovieLens 100k, by N@10 of each user's last but one interaction;
docs/laboratory.md has what was tried.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix


def score_als(known: Any, seed: int) -> Any:
    """ALS for weighted implicit feedback, from implicit."""
    from implicit.als import AlternatingLeastSquares

    return _multiply(
        AlternatingLeastSquares(
            factors=32,
            regularization=10.0,
            alpha=3.0,
            iterations=15,
            random_state=seed,
            num_threads=1,
        ),
        known,
    )


def score_bpr(known: Any, seed: int) -> Any:
    """BPR with uniform negatives, from Cornac.

    The one of implicit draws negatives by their popularity, and reaches less (docs/laboratory.md).
    """
    from cornac.data import Dataset
    from cornac.models import BPR

    users, items = known.nonzero()
    dataset = Dataset.from_uir(
        list(zip(users.tolist(), items.tolist(), np.ones(len(users)).tolist(), strict=True)),
        seed=seed,
    )
    model = BPR(
        k=64, learning_rate=0.02, lambda_reg=0.005, max_iter=100, num_threads=1, seed=seed
    ).fit(dataset)
    # Users and items without events have no vectors; they score as the least of all.
    found = model.u_factors @ model.i_factors.T + model.i_biases
    scores = np.full(known.shape, found.min() - 1)
    rows, columns = list(dataset.uid_map), list(dataset.iid_map)
    scores[np.ix_(rows, columns)] = found
    return scores


def _multiply(model: Any, known: Any) -> Any:
    model.fit(known, show_progress=False)
    return np.asarray(model.user_factors) @ np.asarray(model.item_factors).T


def score_itemknn(known: Any, seed: int) -> Any:
    """Item-kNN with cosine similarities, from implicit."""
    from implicit.nearest_neighbours import CosineRecommender

    return _sum_similar(CosineRecommender(K=100, num_threads=1), known)


def score_bm25(known: Any, seed: int) -> Any:
    """Item-kNN with BM25 weights, from implicit."""
    from implicit.nearest_neighbours import BM25Recommender

    return _sum_similar(BM25Recommender(K=100, K1=1.2, B=0.2, num_threads=1), known)


def _sum_similar(model: Any, known: Any) -> Any:
    """Sum the similarities to each item's own neighbours.

    implicit itself sums those to the neighbours of what the user had, which ranks worse.
    """
    model.fit(known, show_progress=False)
    return (known @ model.similarity.T).toarray()


def score_ease(known: Any, seed: int) -> Any:
    """EASE, from RecTools."""
    import pandas as pd
    from rectools import Columns
    from rectools.dataset import Dataset
    from rectools.models import EASEModel

    users, items = known.nonzero()
    dataset = Dataset.construct(
        pd.DataFrame(
            {
                Columns.User: users,
                Columns.Item: items,
                Columns.Weight: 1.0,
                Columns.Datetime: pd.Timestamp(0),
            }
        )
    )
    model = EASEModel(regularization=500.0).fit(dataset)
    rows = dataset.item_id_map.external_ids
    scores = np.zeros(known.shape)
    scores[:, rows] = known[:, rows] @ model.weight
    return scores


METHODS: dict[str, Callable[[Any, int], Any]] = {
    "als": score_als,
    "bm25": score_bm25,
    "bpr": score_bpr,
    "ease": score_ease,
    "itemknn": score_itemknn,
}


def main(method: str, folder: str, seed: str) -> None:
    """Read the history and the questions, and write the scores."""
    history = np.load(Path(folder) / "history.npz")
    questions = np.load(Path(folder) / "questions.npz")
    pairs = np.unique(np.stack([history["user"], history["item"]]), axis=1)
    known = csr_matrix(
        (np.ones(pairs.shape[1], np.float32), pairs),
        shape=(int(history["users"]), int(history["items"])),
    )
    scores = METHODS[method](known, int(seed))
    np.save(
        Path(folder) / "scores.npy",
        scores[questions["user"][:, None], questions["candidates"]].astype(np.float64),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
