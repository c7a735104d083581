"""RecNet's tables and figures."""

from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut

LIGHT_BASELINES = ("bm25", "itemknn", "ease", "als", "bpr")
RECNET = ("recnet", "recnet-off")
EXPERIMENTS = (
    Experiment(
        "recnet/table2",
        "overall performance",
        "RecNet, Table 2",
        LeaveOneOut(negatives=9),
        ("n10_of_100", "invalid", "n1", "n5", "n10"),
        ("random", "pop", *LIGHT_BASELINES, "llmrank", "agentcf", *RECNET),
        ("sasrec",),
        ("n1", "n5", "n10"),
        {
            "CDs": {
                "pop": (0.0600, 0.1792, 0.2433),
                "bpr": (0.1200, 0.2397, 0.3074),
                "sasrec": (0.1100, 0.2866, 0.3419),
                "llmrank": (0.1133, 0.3184, 0.3718),
                "agentcf": (0.1600, 0.3760, 0.4898),
                "recnet": (0.2533, 0.4894, 0.5745),
            },
            "Office": {
                "pop": (0.0600, 0.1480, 0.2137),
                "bpr": (0.0500, 0.2461, 0.2938),
                "sasrec": (0.0900, 0.2675, 0.3894),
                "llmrank": (0.1600, 0.3272, 0.4832),
                "agentcf": (0.1900, 0.3506, 0.5261),
                "recnet": (0.2400, 0.4373, 0.5933),
            },
            "Instruments": {
                "pop": (0.1100, 0.2146, 0.4275),
                "bpr": (0.1400, 0.3178, 0.3584),
                "sasrec": (0.1800, 0.4037, 0.4785),
                "llmrank": (0.2133, 0.4278, 0.5011),
                "agentcf": (0.2500, 0.4524, 0.5462),
                "recnet": (0.3200, 0.5558, 0.6417),
            },
        },
    ),
    Experiment("recnet/table3", "ablations", "RecNet, Table 3"),
    Experiment("recnet/table4", "propagation methods", "RecNet, Table 4"),
    Experiment("recnet/table5", "efficiency", "RecNet, Table 5"),
    Experiment("recnet/figure4", "several language models", "RecNet, Figure 4"),
    Experiment("recnet/figure5", "number of routers over time", "RecNet, Figure 5"),
    Experiment("recnet/figure6", "cold users and items", "RecNet, Figure 6"),
)
