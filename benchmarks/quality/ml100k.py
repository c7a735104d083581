"""MovieLens 100k for the groups that are measured on it."""

from benchmarks.run import Run
from propagation.datasets.dataset import Dataset
from propagation.datasets.load import load_dataset
from propagation.evaluation.stream import EvaluationSettings

SEED = 7


def ml100k(run: Run, short_events: int) -> Dataset | None:
    """Load MovieLens 100k, or its first events in a short run.

    Returns:
        The data set; None, with a note, if it is missing.
    """
    if run.ml100k is None:
        run.note("MovieLens 100k was not found; name its folder with --ml100k")
        return None
    dataset = load_dataset(run.ml100k, SEED)
    return dataset.first(short_events) if run.short else dataset


def build_evaluation_settings(run: Run) -> EvaluationSettings:
    """Use the protocols' own three seeds, or one in a short run."""
    return EvaluationSettings(seeds=(1,)) if run.short else EvaluationSettings()
