"""AgentCF's tables and figures."""

from propagation.laboratory.experiments.experiment import Experiment

EXPERIMENTS = (Experiment("agentcf/overall", "overall performance", "AgentCF, Table 2"),)
