"""SASRec, GRU4Rec and Caser, in the environment of `make baselines-torch`.

SASRec is from RecTools, the others are from RecBole.

Usage: python sequential.py METHOD FOLDER SEED. FOLDER holds history.npz and questions.npz;
scores.npy is written there (methods/program.py). This file imports nothing of the project.

The parameters were chosen on MovieLens 100k, by N@10 of each user's last but one interaction;
docs/laboratory.md has what was tried.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 1
"""As for the other baselines; with more of them the sums, and so the figures, would differ."""
LONGEST = 200
"""Of a longer sequence the newest interactions are taken, also for learning."""
EPOCHS = 20
GRU_LONGEST, GRU_EPOCHS = 20, 10
CASER_LONGEST, CASER_EPOCHS = 5, 2
"""A row of Caser's filters for each length up to the longest, so it must be short."""
RECBOLE_DATA, RECBOLE_BATCH, LEAST_STEPS = "history", 256, 500
"""Few interactions are learned for more epochs, until there are so many steps."""
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


def score_gru4rec(history: Any, asked: Any, seed: int) -> Any:
    """GRU4Rec with a softmax over all items, from RecBole.

    Arguments and result are as of `score_sasrec`.

    Source:
        Hidasi and others, Session-based Recommendations with Recurrent Neural Networks, 2016.
    """
    parameters = {"embedding_size": 64, "hidden_size": 64, "num_layers": 1, "dropout_prob": 0.3}
    return _score_by_recbole("GRU4Rec", parameters, GRU_LONGEST, GRU_EPOCHS, history, asked, seed)


def score_caser(history: Any, asked: Any, seed: int) -> Any:
    """Caser with a softmax over all items, from RecBole.

    Arguments and result are as of `score_sasrec`.

    Source:
        Tang and Wang, Personalized Top-N Sequential Recommendation via Convolutional Sequence
        Embedding, 2018.
    """
    parameters = {
        "embedding_size": 64,
        "nv": 8,
        "nh": 16,
        "dropout_prob": 0.4,
        "reg_weight": 1e-4,
    }
    return _score_by_recbole("Caser", parameters, CASER_LONGEST, CASER_EPOCHS, history, asked, seed)


def _score_by_recbole(
    name: str,
    parameters: dict[str, Any],
    longest: int,
    epochs: int,
    history: Any,
    asked: Any,
    seed: int,
) -> Any:
    """Learn a model of RecBole, and score by it.

    It learns from users with two interactions or more.

    RecBole reads a file, and would hold interactions back for its own tests: it is told to hold
    none.

    Args:
        name: RecBole's name of the model.
        longest: How many of the newest interactions each prediction sees.
    """
    scores = np.full((len(asked), int(history["items"])), np.nan)
    learned = np.bincount(history["user"], minlength=int(history["users"]))[history["user"]] > 1
    if not learned.any():
        return scores  # no sequence, so nothing to learn
    longest = min(longest, int(np.bincount(history["user"]).max()))
    sys.argv = sys.argv[:1]  # RecBole would read it

    import torch
    from recbole.config import Config
    from recbole.data import create_dataset
    from recbole.data.interaction import Interaction
    from recbole.data.utils import get_dataloader
    from recbole.utils import get_model, get_trainer, init_seed

    # RecBole writes log_tensorboard/ where it runs.
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        _write_for_recbole(Path(folder), history["user"][learned], history["item"][learned])
        config = Config(
            model=name,
            dataset=RECBOLE_DATA,
            config_dict={
                **parameters,
                "data_path": folder,
                "checkpoint_dir": folder,
                "load_col": {"inter": ["user_id", "item_id", "timestamp"]},
                "MAX_ITEM_LIST_LENGTH": longest,
                "loss_type": "CE",
                "train_neg_sample_args": None,
                "eval_args": {
                    "split": {"RS": [1, 0, 0]},
                    "order": "TO",
                    "group_by": "user",
                    "mode": "full",
                },
                "learning_rate": 0.001,
                "train_batch_size": RECBOLE_BATCH,
                "epochs": max(epochs, -(-LEAST_STEPS // -(-int(learned.sum()) // RECBOLE_BATCH))),
                "seed": seed,
                "reproducibility": True,
                "use_gpu": False,
                "state": "ERROR",
                "show_progress": False,
            },
        )
        init_seed(seed, True)
        dataset = create_dataset(config)
        sequences = dataset.build()[0]
        loader = get_dataloader(config, "train")(config, sequences, None, shuffle=True)
        model = get_model(name)(config, sequences)
        get_trainer(config["MODEL_TYPE"], name)(config, model).fit(
            loader, saved=False, show_progress=False, verbose=False
        )
    items = {
        int(one): place
        for one, place in dataset.field2token_id["item_id"].items()
        if one != "[PAD]"
    }
    users = {
        int(one): place
        for one, place in dataset.field2token_id["user_id"].items()
        if one != "[PAD]"
    }
    rows, columns = list(items), list(items.values())
    model.eval()
    for place, user in enumerate(asked.tolist()):
        had = history["item"][history["user"] == user].tolist()
        had = [items[item] for item in had if item in items]
        if not had:
            continue
        newest = had[-longest:]
        shown = Interaction(
            {
                "user_id": torch.tensor([users.get(user, 0)]),
                "item_id_list": torch.tensor([newest + [0] * (longest - len(newest))]),
                "item_length": torch.tensor([len(newest)]),
            }
        )
        with torch.no_grad():
            scores[place, rows] = model.full_sort_predict(shown)[0].numpy()[columns]
    return scores


def _write_for_recbole(folder: Path, users: Any, items: Any) -> None:
    """Write interactions [E] as RecBole reads them; places stand for times."""
    path = folder / RECBOLE_DATA / f"{RECBOLE_DATA}.inter"
    path.parent.mkdir()
    rows = zip(users.tolist(), items.tolist(), strict=True)
    lines = [f"{user}\t{item}\t{place}" for place, (user, item) in enumerate(rows)]
    header = "user_id:token\titem_id:token\ttimestamp:float"
    path.write_text("\n".join([header, *lines]) + "\n")


METHODS: dict[str, Callable[[Any, Any, int], Any]] = {
    "caser": score_caser,
    "gru4rec": score_gru4rec,
    "sasrec": score_sasrec,
}


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
