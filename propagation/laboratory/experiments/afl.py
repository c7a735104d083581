"""AFL's tables and figures."""

from propagation.laboratory.experiments.claims import Claim, claim_change
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.protocols.candidates import Position
from propagation.laboratory.protocols.one_of_twenty import ITERATIONS, OneOfTwenty
from propagation.laboratory.protocols.user_simulation import FIGURES, RATIOS, UserSimulation

BASES = ("pop", "ease", "recnet")
TORCH_BASES = ("gru4rec", "caser")
MODELS = (*BASES, "sasrec", *TORCH_BASES)
REWARD = "ease"
"""The paper's reward model is SASRec in all rows. EASE, which is lighter, stands in for it in those
of base models that need no torch."""
LOOPS = {
    **{base: f"afl({base}+{REWARD})" for base in BASES if base != REWARD},
    **{base: f"afl({base})" for base in (REWARD, "sasrec")},
    **{base: f"afl({base}+sasrec)" for base in TORCH_BASES},
}
HIT = f"random_hit_{ITERATIONS}"
"""HitRatio@1 of the last iteration."""
POSITIONS: tuple[Position, ...] = ("first", "random", "last")
STEPS = range(1, ITERATIONS + 1)
RANKERS = {
    model: tuple(f"{kind}({model})" for kind in ("user-rank", "rec", "rec-rank", "rec-user", "afl"))
    for model in (REWARD, "sasrec")
}
"""The user agent alone, the recommendation agent alone, both rankers behind it, and the loop."""
NOT_BUILT = ("morec", "llara")
"""MoRec learns from pictures and texts, LLaRA tunes a language model: docs/laboratory.md."""
EXPERIMENTS = (
    Experiment(
        "afl/table4",
        "one item of twenty: base models, recommendation agent, AFL",
        "AFL, Table 4",
        OneOfTwenty(),
        ("invalid", HIT),
        ("random", *MODELS, *(f"rec({base})" for base in MODELS), *LOOPS.values()),
        NOT_BUILT,
        (HIT,),
        {
            data: {
                name: (value,)
                for base, values in rows.items()
                for name, value in zip(
                    (base, f"rec({base})", LOOPS.get(base, f"afl({base})")), values, strict=True
                )
            }
            for data, rows in {
                "Lastfm": {
                    "sasrec": (0.2869, 0.3197, 0.3770),
                    "gru4rec": (0.2787, 0.3114, 0.3770),
                    "caser": (0.2705, 0.2705, 0.3443),
                    "morec": (0.1639, 0.2131, 0.3115),
                    "llara": (0.4426, 0.4426, 0.4836),
                },
                "Steam": {
                    "sasrec": (0.3800, 0.3900, 0.4100),
                    "gru4rec": (0.3750, 0.3850, 0.4100),
                    "caser": (0.4200, 0.4150, 0.4500),
                    "morec": (0.4100, 0.4200, 0.4250),
                    "llara": (0.4650, 0.4650, 0.4750),
                },
                "MovieLens": {
                    "sasrec": (0.4105, 0.4105, 0.4316),
                    "gru4rec": (0.4526, 0.4526, 0.4632),
                    "caser": (0.3789, 0.3895, 0.4000),
                    "morec": (0.3158, 0.3158, 0.3474),
                    "llara": (0.4842, 0.4842, 0.4947),
                },
            }.items()
        },
        claims=tuple(
            claim
            for base, loop in LOOPS.items()
            for claim in (Claim(f"rec({base})", base, HIT), Claim(loop, f"rec({base})", HIT))
        ),
    ),
    Experiment(
        "afl/table5",
        "user simulation: reward model, user agent, AFL",
        "AFL, Table 5",
        UserSimulation(),
        ("invalid", *(f"{name}_{ratio}" for ratio in RATIOS for name in FIGURES)),
        ("ease", "recnet", "sasrec", "user(ease)", "user(sasrec)", "afl(ease)", "afl(sasrec)"),
        (),
        tuple(f"{name}_{ratio}" for ratio in RATIOS for name in FIGURES),
        {
            "Lastfm": {
                "sasrec": (
                    *(0.6667, 0.0533, 0.0988),
                    *(0.4167, 0.0571, 0.1005),
                    *(0.1667, 0.0667, 0.0952),
                ),
                "user(sasrec)": (
                    *(0.8155, 0.3467, 0.4865),
                    *(0.5910, 0.3571, 0.4452),
                    *(0.2356, 0.2667, 0.2501),
                ),
                "afl(sasrec)": (
                    *(0.8504, 0.5000, 0.6297),
                    *(0.7343, 0.4286, 0.5412),
                    *(0.3705, 0.4286, 0.3974),
                ),
            },
            "Steam": {
                "sasrec": (
                    *(0.7826, 0.6800, 0.7277),
                    *(0.5791, 0.7133, 0.6393),
                    *(0.3408, 0.7667, 0.4718),
                ),
                "user(sasrec)": (
                    *(0.8031, 0.6933, 0.7422),
                    *(0.6323, 0.7067, 0.6674),
                    *(0.3682, 0.8167, 0.5076),
                ),
                "afl(sasrec)": (
                    *(0.8501, 0.6700, 0.7494),
                    *(0.6815, 0.7267, 0.7034),
                    *(0.4303, 0.8167, 0.5636),
                ),
            },
            "MovieLens": {
                "sasrec": (
                    *(0.6929, 0.3800, 0.4908),
                    *(0.5179, 0.3077, 0.3860),
                    *(0.3397, 0.2667, 0.2988),
                ),
                "user(sasrec)": (
                    *(0.7049, 0.5133, 0.5941),
                    *(0.5114, 0.4800, 0.4952),
                    *(0.2313, 0.5000, 0.3163),
                ),
                "afl(sasrec)": (
                    *(0.7065, 0.5500, 0.6185),
                    *(0.8107, 0.4667, 0.5924),
                    *(0.4410, 0.4333, 0.4371),
                ),
            },
        },
        claims=tuple(
            claim
            for model in (REWARD, "sasrec")
            for ratio in RATIOS
            for claim in (
                Claim(f"user({model})", model, f"f1_{ratio}"),
                Claim(f"afl({model})", f"user({model})", f"f1_{ratio}"),
            )
        ),
    ),
    Experiment(
        "afl/table6",
        "a ranker of five items behind the recommendation agent, in place of the loop",
        "AFL, Table 6",
        OneOfTwenty(),
        ("invalid", HIT),
        (REWARD, *RANKERS[REWARD], "sasrec", *RANKERS["sasrec"]),
        (),
        (HIT,),
        {
            data: dict(
                zip(
                    ("sasrec", *RANKERS["sasrec"]),
                    ((value,) for value in values),
                    strict=True,
                )
            )
            for data, values in {
                "Lastfm": (0.2869, 0.3197, 0.3197, 0.3525, 0.3607, 0.3770),
                "Steam": (0.3800, 0.3900, 0.3900, 0.3850, 0.3950, 0.4100),
                "MovieLens": (0.4105, 0.4105, 0.4105, 0.3895, 0.4000, 0.4316),
            }.items()
        },
        reference="afl(ease)",
        claims=tuple(
            Claim(loop, ranker, HIT) for *rankers, loop in RANKERS.values() for ranker in rankers
        ),
    ),
    Experiment(
        "afl/table7",
        "without the recommendation model, the reward model, both",
        "AFL, Table 7",
        OneOfTwenty(),
        ("invalid", HIT),
        (
            *("afl(ease)", "afl(none+ease)", "afl(ease+none)"),
            *("afl(sasrec)", "afl(none+sasrec)", "afl(sasrec+none)"),
            "afl(none+none)",
        ),
        (),
        (HIT,),
        {
            data: dict(
                zip(
                    (
                        "afl(sasrec)",
                        "afl(none+sasrec)",
                        "afl(sasrec+none)",
                        "afl(none+none)",
                    ),
                    ((value,) for value in values),
                    strict=True,
                )
            )
            for data, values in {
                "Lastfm": (0.3770, 0.3525, 0.3689, 0.3443),
                "Steam": (0.4100, 0.3950, 0.4000, 0.3250),
                "MovieLens": (0.4316, 0.4000, 0.4211, 0.2105),
            }.items()
        },
        claims=tuple(
            Claim(f"afl({model})", less, HIT)
            for model in (REWARD, "sasrec")
            for less in (f"afl(none+{model})", f"afl({model}+none)", "afl(none+none)")
        ),
    ),
    Experiment(
        "afl/figure4",
        "hits after at most 1 to 4 iterations",
        "AFL, Figure 4a",
        OneOfTwenty(),
        ("invalid", *(f"random_hit_{step}" for step in STEPS)),
        ("ease", "sasrec", "afl(ease)", "afl(sasrec)"),
        claims=tuple(
            claim_change(f"afl({model})", f"random_hit_{step + 1}", f"random_hit_{step}")
            for model in (REWARD, "sasrec")
            for step in STEPS[:-1]
        ),
    ),
    Experiment(
        "afl/figure4b",
        "user simulation after at most 1 to 4 iterations",
        "AFL, Figure 4b",
        UserSimulation(ratios=(1,)),
        ("invalid", *(f"{name}_1" for name in FIGURES)),
        tuple(
            name
            for model in (REWARD, "sasrec")
            for name in (
                f"user({model})",
                *(f"afl{step}({model})" for step in STEPS[:-1]),
                f"afl({model})",
            )
        ),
        reference="user(ease)",
    ),
    Experiment(
        "afl/figure5",
        "popularity of the recommended items by iteration (the middle is the rest)",
        "AFL, Figure 5",
        OneOfTwenty(),
        ("invalid", *(f"random_{group}_{step}" for group in ("rare", "popular") for step in STEPS)),
        ("ease", "sasrec", "afl(ease)", "afl(sasrec)"),
    ),
    Experiment(
        "afl/figure6",
        "the right item first, anywhere, last",
        "AFL, Figure 6",
        OneOfTwenty(positions=POSITIONS),
        ("invalid", *(f"{position}_hit_{step}" for position in POSITIONS for step in STEPS)),
        ("ease", "sasrec", "afl(ease)", "afl(sasrec)"),
    ),
)
