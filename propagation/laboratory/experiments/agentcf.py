"""AgentCF's tables and figures.

The paper's figures are not repeated here: the copy at hand has no tables.
"""

from propagation.laboratory.agentcf.studies.advertisements import Advertisements
from propagation.laboratory.agentcf.studies.cold_items import ColdItems
from propagation.laboratory.agentcf.studies.reviews import Reviews
from propagation.laboratory.agentcf.studies.spread import Spread
from propagation.laboratory.experiments.claims import Claim, claim_change
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.experiments.recnet import LIGHT_BASELINES
from propagation.laboratory.protocols.drawn_negatives import DrawnNegatives
from propagation.laboratory.protocols.ranking_bias import RankingBias
from propagation.laboratory.protocols.two_way_choice import TwoWayChoice

INFERENCE = ("agentcf", "agentcf-r", "agentcf-h")
"""The basic prompting, with retrieval of long-term memory, and with the history (B, B+R, B+H)."""
ABLATIONS = ("agentcf-no-interaction", "agentcf-no-users", "agentcf-no-items")
AGENTCF = (*INFERENCE, *ABLATIONS)
RANKED = ("invalid", "n1", "n5", "n10")
SPREAD = (
    *("invalid", "seed_3", "near_1", "near_2", "near_3", "far_1", "far_2", "far_3"),
    *("others_3", "control", "all"),
)
EXPERIMENTS = (
    Experiment(
        "agentcf/overall",
        "overall performance",
        "AgentCF 4.2, overall performance",
        DrawnNegatives(negatives=9),
        RANKED,
        ("random", "pop", *LIGHT_BASELINES, "sasrec", "llmrank", *INFERENCE),
        claims=tuple(
            Claim(method, less)
            for method in INFERENCE
            for less in ("pop", "bpr", "sasrec", "llmrank")
        ),
    ),
    Experiment(
        "agentcf/ablations",
        "without autonomous interaction, user agents or item agents",
        "AgentCF 4.3.1, ablation study",
        DrawnNegatives(negatives=9),
        RANKED,
        ("agentcf", *ABLATIONS),
        claims=tuple(Claim("agentcf", ablation) for ablation in ABLATIONS),
    ),
    Experiment(
        "agentcf/bias",
        "position bias and popularity bias",
        "AgentCF 4.3.2, position and popularity bias",
        RankingBias(negatives=9),
        tuple(RankingBias().measures),
        ("random", "pop", "llmrank", "agentcf"),
    ),
    Experiment(
        "agentcf/reflection",
        "right choices before and after reflection",
        "AgentCF 4.3.3, collaborative reflection",
        TwoWayChoice(steps=3),
        tuple(TwoWayChoice(steps=3).measures),
        ("agentcf", "agentcf-no-users", "agentcf-no-items"),
        claims=(
            *(claim_change("agentcf", f"after_{step}", f"before_{step}") for step in (1, 2, 3)),
            *(claim_change("agentcf", f"before_{step + 1}", f"before_{step}") for step in (1, 2)),
        ),
    ),
    Experiment(
        "agentcf/user-user",
        "reviews change decisions",
        "AgentCF 4.4.1, user-user interaction",
        Reviews(),
        tuple(Reviews().measures),
        ("agentcf",),
        claims=(
            claim_change("agentcf", "praise", "before"),
            claim_change("agentcf", "before", "criticism"),
            claim_change("agentcf", "praise", "praise_unlike"),
        ),
    ),
    Experiment(
        "agentcf/item-item",
        "a new item learns from popular ones",
        "AgentCF 4.4.2, item-item interaction",
        ColdItems(negatives=9),
        tuple(ColdItems().measures),
        ("agentcf",),
        claims=tuple(claim_change("agentcf", taught, "cold") for taught in ("alike", "unlike")),
    ),
    Experiment(
        "agentcf/spread",
        "spread of a seed preference",
        "AgentCF 4.4.3, preference propagation",
        Spread(),
        SPREAD,
        ("agentcf",),
        claims=(
            claim_change("agentcf", "near_3", "near_1"),
            claim_change("agentcf", "far_3", "far_1"),
            claim_change("agentcf", "all", "control"),
        ),
    ),
    Experiment(
        "agentcf/advertisements",
        "advertisements made together",
        "AgentCF 4.4.4, collaborative advertisements",
        Advertisements(),
        tuple(Advertisements().measures),
        ("agentcf",),
        claims=(claim_change("agentcf", "revised", "draft"),),
    ),
)
