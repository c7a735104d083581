"""The papers' tables and figures.

Those that nobody has built yet are named, so that nobody looks for them in vain.
"""

from collections.abc import Mapping

from propagation.laboratory.experiments import afl, agentcf, ours, recnet
from propagation.laboratory.experiments.experiment import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    one.name: one
    for one in (
        *recnet.EXPERIMENTS,
        *agentcf.EXPERIMENTS,
        *afl.EXPERIMENTS,
        *ours.EXPERIMENTS,
    )
}
