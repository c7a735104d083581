"""RecNet's tables and figures."""

from propagation.laboratory.experiments.claims import Claim, Slice
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut

LIGHT_BASELINES = ("bm25", "itemknn", "ease", "als", "bpr")
RECNET = ("recnet", "recnet-off")
PAPER = "recnet-paper"
LABELS = {
    PAPER: "RecNet",
    "recnet-em": "w/o CPR",
    "recnet-no-ppr": "w/o PPR",
    "recnet-no-buffer": "w/o Buffer",
    "recnet-no-filter-memory": "w/o Filter Memory",
    "recnet-no-opt-filter-memory": "w/o Opt. Filter Memory",
    "recnet-no-fpo": "w/o FPO",
    "recnet-no-opt-router": "w/o Opt. Router",
}
ABLATIONS = tuple(name for name in LABELS if name != PAPER)
BETWEEN_CLIENTS = {
    "recnet-em": "EM",
    "recnet-em-lr": "EM+LR",
    "recnet-em-lr-ls": "EM+LR+LS",
}
COUNTS_BETWEEN_CLIENTS = (
    "messages",
    "lost messages",
    "questions: merge",
    "questions: select receivers",
    "questions: write to clients",
)
SIZES = (5, 10, 20, 40)
USERS = tuple(Slice("history", *span) for span in ((1, 1), (2, 5), (6, 20), (21, None)))
ITEMS = tuple(Slice("adopters", *span) for span in ((0, 0), (1, 2), (3, 10), (11, None)))
ON_PAPER = (
    "`recnet-paper` is the preset `paper`, with a look every 16 events at whether a round is due,"
    " and with a holdout of 100 in place of 2,000. All `recnet-no-…` but `recnet-no-cpr` differ"
    " from it in one part. With --model, the model reasons in all of these and ranks one draw of"
    " candidates for each seed; else the offline reasoner reasons, and the numbers rank."
)
ON_CLIENTS = (
    "In `recnet-em…` and `recnet-no-router` no router sends: after each event, the clients whose"
    " profiles it changed send to 3 of the nearest, who merge at once, without a buffer."
    " `recnet-alone` is the same without any message. Without --model the numbers rank, with their"
    " own routers in all of these rows, and texts are one of their features."
)
ON_NUMBERS = (
    "`recnet-no-cpr` (point-to-point: the 50 nearest users), `recnet-semantic` (routing by text),"
    " `recnet-placebo` (shuffled routers) and `recnet-no-propagation` have no texts. Compare them"
    " with `recnet-numbers`, which is the live ranker without texts; they differ from it only in"
    " the feature that propagates."
)
ON_RULES = (
    "A filter memory is empty until it is optimised, so `recnet-no-opt-filter-memory` is"
    " `recnet-no-filter-memory`, and both share one replay."
)
ON_FPO = "Without FPO interactions still write profiles: else nothing would change or propagate."
ON_QUESTIONS = (
    "A question is what the reasoner is asked in learning; a language model answers it in about one"
    " call. Seconds are of this machine, and include the asking. Answers that were kept cost none,"
    " so compare the seconds of first runs."
)
EXPERIMENTS = (
    Experiment(
        "recnet/table2",
        "overall performance",
        "RecNet, Table 2",
        LeaveOneOut(negatives=9),
        ("n10_of_100", "invalid", "n1", "n5", "n10"),
        ("random", "pop", *LIGHT_BASELINES, "sasrec", "llmrank", "agentcf", *RECNET),
        (),
        ("n1", "n5", "n10"),
        {
            "CDs": {
                PAPER: (0.2533, 0.4894, 0.5745),
                "pop": (0.0600, 0.1792, 0.2433),
                "bpr": (0.1200, 0.2397, 0.3074),
                "sasrec": (0.1100, 0.2866, 0.3419),
                "llmrank": (0.1133, 0.3184, 0.3718),
                "agentcf": (0.1600, 0.3760, 0.4898),
                "recnet": (0.2533, 0.4894, 0.5745),
            },
            "Office": {
                PAPER: (0.2400, 0.4373, 0.5933),
                "pop": (0.0600, 0.1480, 0.2137),
                "bpr": (0.0500, 0.2461, 0.2938),
                "sasrec": (0.0900, 0.2675, 0.3894),
                "llmrank": (0.1600, 0.3272, 0.4832),
                "agentcf": (0.1900, 0.3506, 0.5261),
                "recnet": (0.2400, 0.4373, 0.5933),
            },
            "Instruments": {
                PAPER: (0.3200, 0.5558, 0.6417),
                "pop": (0.1100, 0.2146, 0.4275),
                "bpr": (0.1400, 0.3178, 0.3584),
                "sasrec": (0.1800, 0.4037, 0.4785),
                "llmrank": (0.2133, 0.4278, 0.5011),
                "agentcf": (0.2500, 0.4524, 0.5462),
                "recnet": (0.3200, 0.5558, 0.6417),
            },
        },
        claims=(
            *(
                Claim(recnet, less)
                for recnet in ("recnet", PAPER)
                for less in ("agentcf", "llmrank", "sasrec", "bpr", "pop")
            ),
            Claim("agentcf", "llmrank"),
        ),
        notes=(
            "`recnet` is the service as it is by default, without a language model; `recnet-paper`"
            " is the paper's, with the model that is named.",
        ),
        with_model=(PAPER,),
    ),
    Experiment(
        "recnet/table3",
        "ablations",
        "RecNet, Table 3",
        LeaveOneOut(negatives=9),
        ("n10_of_100", "invalid", "n1", "n5", "n10"),
        (PAPER, *ABLATIONS, "recnet-alone", "recnet-numbers", "recnet-no-cpr"),
        (),
        ("n5", "n10"),
        {
            "CDs": {
                PAPER: (0.4894, 0.5745),
                "recnet-em": (0.4317, 0.5378),
                "recnet-no-ppr": (0.4562, 0.5481),
                "recnet-no-buffer": (0.4677, 0.5610),
                "recnet-no-filter-memory": (0.4635, 0.5649),
                "recnet-no-fpo": (0.4360, 0.5424),
                "recnet-no-opt-filter-memory": (0.4722, 0.5693),
                "recnet-no-opt-router": (0.4580, 0.5608),
            },
            "Office": {
                PAPER: (0.4373, 0.5933),
                "recnet-em": (0.3984, 0.5682),
                "recnet-no-ppr": (0.4107, 0.5813),
                "recnet-no-buffer": (0.4164, 0.5826),
                "recnet-no-filter-memory": (0.4238, 0.5870),
                "recnet-no-fpo": (0.4052, 0.5732),
                "recnet-no-opt-filter-memory": (0.4155, 0.5834),
                "recnet-no-opt-router": (0.4102, 0.5795),
            },
        },
        PAPER,
        LABELS,
        (
            Claim("recnet-numbers", "recnet-no-cpr"),
            *(Claim(PAPER, ablation) for ablation in ABLATIONS),
        ),
        notes=(ON_PAPER, ON_RULES, ON_FPO, ON_CLIENTS, ON_NUMBERS),
    ),
    Experiment(
        "recnet/table4",
        "propagation methods",
        "RecNet, Table 4",
        LeaveOneOut(negatives=9),
        ("n10_of_100", "invalid", "n1", "n5", "n10"),
        (
            PAPER,
            *BETWEEN_CLIENTS,
            "recnet-alone",
            "recnet-numbers",
            "recnet-no-cpr",
            "recnet-semantic",
            "recnet-placebo",
            "recnet-no-propagation",
        ),
        (),
        ("n5", "n10"),
        {
            "CDs": {
                PAPER: (0.4894, 0.5745),
                "recnet-em": (0.4317, 0.5378),
                "recnet-em-lr": (0.4560, 0.5491),
                "recnet-em-lr-ls": (0.4502, 0.5552),
            },
            "Office": {
                PAPER: (0.4373, 0.5933),
                "recnet-em": (0.3984, 0.5682),
                "recnet-em-lr": (0.4037, 0.5719),
                "recnet-em-lr-ls": (0.4118, 0.5782),
            },
        },
        PAPER,
        {PAPER: "RecNet", **BETWEEN_CLIENTS},
        (
            *(Claim(PAPER, less) for less in BETWEEN_CLIENTS),
            *(Claim(more, "recnet-alone") for more in BETWEEN_CLIENTS),
            *(
                Claim("recnet-numbers", less)
                for less in ("recnet-no-cpr", "recnet-placebo", "recnet-no-propagation")
            ),
        ),
        ("seconds", "questions", *COUNTS_BETWEEN_CLIENTS),
        notes=(
            ON_PAPER,
            ON_CLIENTS,
            ON_NUMBERS,
            "`recnet-alone`, the placebo and no propagation are this project's, not the paper's.",
        ),
    ),
    Experiment(
        "recnet/table5",
        "efficiency",
        "RecNet, Table 5",
        LeaveOneOut(negatives=9),
        ("n10_of_100", "invalid", "n5", "n10"),
        (PAPER, "recnet-no-async", "recnet-no-router", "recnet-numbers", "recnet-no-cpr"),
        (),
        ("n5", "n10"),
        {
            "CDs": {
                "agentcf": (0.3760, 0.4898),
                "recnet-no-router": (0.4936, 0.5783),
                "recnet-no-async": (0.4771, 0.5716),
                PAPER: (0.4894, 0.5745),
            }
        },
        PAPER,
        {PAPER: "RecNet", "recnet-no-async": "w/o asyn.", "recnet-no-router": "w/o router"},
        (
            Claim(PAPER, "agentcf"),
            Claim("recnet-no-async", PAPER, differs=False),
            Claim(PAPER, "agentcf", "seconds"),
            Claim("recnet-no-async", PAPER, "seconds"),
            Claim("recnet-no-async", PAPER, "questions"),
            Claim("recnet-no-router", PAPER, "seconds"),
            Claim("recnet-no-router", PAPER, "questions"),
        ),
        (
            *("seconds", "learning seconds", "rounds", "questions", "questions: summarize"),
            *COUNTS_BETWEEN_CLIENTS,
        ),
        with_model=("agentcf",),
        notes=(
            ON_PAPER,
            "`recnet-no-async` runs a round, and an evolution before it, after every event.",
            ON_QUESTIONS,
            ON_CLIENTS,
            "`recnet-no-router` asks for a text to each of the receivers, N N' questions for N"
            " changes; each receiver's merge is one more, which the paper does not count.",
            "`recnet-numbers` and `recnet-no-cpr` (point-to-point) are the numbers without texts."
            " They ask no reasoner, so their seconds say nothing about a model's.",
            "The paper's minutes on CDs: AgentCF 34, RecNet 41, w/o asyn. 49, w/o router 68.",
        ),
    ),
    Experiment(
        "recnet/figure4",
        "several language models",
        "RecNet, Figure 4",
        LeaveOneOut(negatives=9),
        ("invalid", "n1", "n5", "n10"),
        reference=PAPER,
        labels={PAPER: "RecNet"},
        counts=("seconds", "questions", "dead letters"),
        notes=(
            ON_PAPER,
            "The paper gives no figures but a plot. It says that RecNet is better than the others"
            " with each model.",
        ),
        with_model=(PAPER, "agentcf", "llmrank"),
        by_model=True,
    ),
    Experiment(
        "recnet/figure5",
        "number of routers over time",
        "RecNet, Figure 5",
        LeaveOneOut(negatives=9),
        ("n10_of_100", "invalid", "n1", "n5", "n10"),
        tuple(f"recnet-k{k}" for k in SIZES),
        reference="recnet-k20",
        labels={f"recnet-k{k}": f"K = {k}" for k in SIZES},
        claims=tuple(
            Claim("recnet-k20", f"recnet-k{k}", differs=differs)
            for differs in (True, False)
            for k in SIZES
            if k != 20
        ),
        counts=("routers", "rounds", "questions"),
        series=("routers",),
        notes=(
            ON_PAPER,
            "The paper says that K = 20 is best, and that the others are competitive; both claims"
            " are judged. It gives no figures but a plot.",
        ),
    ),
    Experiment(
        "recnet/figure6",
        "cold users and items",
        "RecNet, Figure 6",
        LeaveOneOut(negatives=9),
        ("n10_of_100", "n1", "n5", "n10"),
        ("pop", *LIGHT_BASELINES, *RECNET),
        claims=(
            Claim("recnet", "recnet-off", among=USERS[0]),
            Claim("recnet", "recnet-off", among=ITEMS[0]),
        ),
        slices=(*USERS, *ITEMS),
        notes=(
            "The paper augments profiles of users with one interaction and of items without any;"
            " here such targets are a part of the last events, ranked with and without it.",
        ),
    ),
)
