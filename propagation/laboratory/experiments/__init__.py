"""Experiments: the papers' tables and figures."""

from propagation.laboratory.experiments.catalogue import EXPERIMENTS
from propagation.laboratory.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]
