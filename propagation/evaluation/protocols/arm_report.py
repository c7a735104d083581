"""One arm's figures: medians over the seeds."""

from collections.abc import Sequence

from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.metrics import Paired, level, middle, middle_pair, paired
from propagation.evaluation.protocols.one_pass import Ranked
from propagation.model.base import Term

N10, HR1, MATCHED_N10, _, N10_OF_100 = range(5)


class ArmReport(Term):
    """Event means of N@10, HR@1, N@10 against negatives of the target's kind (adopted before or
    not) and N@10 of 100, and the paired user means of N@10 against `off` and `offk`."""

    name: str
    n10: float | None
    hr1: float | None
    n10_matched: float | None
    n10_of_100: float | None
    against_off: Paired | None
    against_offk: Paired | None


def arm_report(name: str, passes: Sequence[Ranked]) -> ArmReport:
    """One arm of RANKINGS over one pass a seed."""

    def of(measure: int) -> float | None:
        return middle([level(one.values[:, RANKINGS.index(name), measure]) for one in passes])

    return ArmReport(
        name=name,
        n10=of(N10),
        hr1=of(HR1),
        n10_matched=of(MATCHED_N10),
        n10_of_100=of(N10_OF_100),
        against_off=None if name == "off" else against(name, "off", passes),
        against_offk=None if name == "offk" else against(name, "offk", passes),
    )


def against(name: str, base: str, passes: Sequence[Ranked], measure: int = N10) -> Paired | None:
    """The paired user mean of one arm less another's."""
    one, other = RANKINGS.index(name), RANKINGS.index(base)
    return middle_pair(
        [
            paired(ranked.values[:, one, measure], ranked.values[:, other, measure], ranked.user)
            for ranked in passes
        ]
    )
