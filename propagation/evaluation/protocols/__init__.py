"""Protocols: prequential, leave-last-one-out, the whole loop, cold start, one setting varied."""

from propagation.evaluation.protocols.by_reasoner import (
    ByReasonerReport,
    NamedPromptCost,
    evaluate_by_reasoner,
    time_run,
)
from propagation.evaluation.protocols.leave_one_out import (
    KNOWING,
    LeaveOneOutReport,
    Setting,
    evaluate_leave_one_out,
)
from propagation.evaluation.protocols.metrics import (
    ArmReport,
    Paired,
    Slice,
    level,
    over_time,
    paired,
)
from propagation.evaluation.protocols.passes import (
    Schedule,
    histories_shuffled,
    last_of_each_user,
    leave_one_out,
    prequential,
    run_passes,
)
from propagation.evaluation.protocols.prequential import Report, evaluate_prequential
from propagation.evaluation.protocols.vary import (
    BASES,
    EVOLVED,
    LOOP_BASES,
    NONE_MEANS,
    SHOWN,
    UNEVOLVED,
    Effect,
    loop_point,
    numbers_point,
)
from propagation.evaluation.protocols.whole_loop import (
    PLAIN,
    RULES,
    TEXT,
    LoopRanking,
    rank_in_loop,
)

__all__ = [
    "BASES",
    "EVOLVED",
    "KNOWING",
    "LOOP_BASES",
    "NONE_MEANS",
    "PLAIN",
    "RULES",
    "SHOWN",
    "TEXT",
    "UNEVOLVED",
    "ArmReport",
    "ByReasonerReport",
    "Effect",
    "LeaveOneOutReport",
    "LoopRanking",
    "NamedPromptCost",
    "Paired",
    "Report",
    "Schedule",
    "Setting",
    "Slice",
    "evaluate_by_reasoner",
    "evaluate_leave_one_out",
    "evaluate_prequential",
    "histories_shuffled",
    "last_of_each_user",
    "leave_one_out",
    "level",
    "loop_point",
    "numbers_point",
    "over_time",
    "paired",
    "prequential",
    "rank_in_loop",
    "run_passes",
    "time_run",
]
