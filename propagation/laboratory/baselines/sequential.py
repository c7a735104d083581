"""SASRec from RecTools, in the environment of `make baselines-torch`.

Usage: python sequential.py METHOD FOLDER SEED. FOLDER holds history.npz and questions.npz;
scores.npy is written there (methods/program.py). This file imports nothing of the project.

The parameters were chosen on MovieLens 100k, by N@10 of each user's last but one interaction;
docs/laboratory.md has what was tried.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 1
"""As for the other baselines; with more of them the sums, and so the figures, would differ."""
LONGEST = 200
"""Of a longer sequence the newest interactions are taken, also for learning."""
EPOCHS = 20
USERS_AT_ONCE = 1_000
"""RecTools returns a table with a row for each user and item."""


def score_sasrec(history: Any, asked: Any, seed: int) -> Any:
    """SASRec with a softmax over all items, from RecTools.

    Source:
        Kang and McAuley, Self-Attentive Sequential Recommendation, 2018.

    Args:
        history: The arrays of history.npz.
        asked: [U] rows of the users to score for, each once.

    Returns:
        [U, items]; NaN for a user without interactions, and for an item in no sequence.
    """
    scores = np.full((len(asked), int(history["items"])), np.nan)
    longest = int(np.bincount(history["user"], minlength=1).max())
    if longest < 2:
        return scores  # no sequence, so nothing to learn

    from pytorch_lightning import seed_everything
    from rectools import Columns
    from rectools.models import SASRecModel

    seed_everything(seed)
    dataset = _build_dataset(history)
    model = SASRecModel(
        n_blocks=2,
        n_heads=1,
        n_factors=64,
        dropout_rate=0.2,
        session_max_len=min(LONGEST, longest),
        loss="softmax",
        lr=0.001,
        batch_size=16,
        epochs=EPOCHS,
        deterministic=True,
        recommend_use_torch_ranking=False,
        recommend_n_threads=1,
    ).fit(dataset)
    for start in range(0, len(asked), USERS_AT_ONCE):
        some = asked[start : start + USERS_AT_ONCE]
        found = model.recommend(
            some[np.isin(some, history["user"])],
            dataset,
            k=scores.shape[1],
            filter_viewed=False,
            on_unsupported_targets="ignore",
        )
        rows = np.searchsorted(asked, found[Columns.User].to_numpy())
        scores[rows, found[Columns.Item].to_numpy()] = found[Columns.Score]
    return scores


def _build_dataset(history: Any) -> Any:
    """Build the data of RecTools.

    Places in the order of time stand for times, so that interactions of one moment keep their
    order.
    """
    import pandas as pd
    from rectools import Columns
    from rectools.dataset import Dataset

    places = np.arange(len(history["user"]))
    return Dataset.construct(
        pd.DataFrame(
            {
                Columns.User: history["user"],
                Columns.Item: history["item"],
                Columns.Weight: 1.0,
                Columns.Datetime: pd.to_datetime(places, unit="s"),
            }
        )
    )


METHODS: dict[str, Callable[[Any, Any, int], Any]] = {"sasrec": score_sasrec}


def main(method: str, folder: str, seed: str) -> None:
    """Read the history and the questions, and write the scores."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a GPU would give other figures
    import torch

    torch.set_num_threads(THREADS)
    history = np.load(Path(folder) / "history.npz")
    questions = np.load(Path(folder) / "questions.npz")
    asked, place = np.unique(questions["user"], return_inverse=True)
    scores = METHODS[method](history, asked, int(seed))
    known = np.isfinite(scores)
    scores = np.where(known, scores, scores[known].min() - 1 if known.any() else 0.0)
    np.save(
        Path(folder) / "scores.npy",
        scores[place[:, None], questions["candidates"]].astype(np.float64),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
