"""RecNet: this project's own engine and numbers, with any settings.

Source:
    RecNet, section 2; docs/method.md.
"""

from propagation.laboratory.methods.recnet.engine_method import AskingRecNet, RecNet
from propagation.laboratory.methods.recnet.engine_replay import (
    Convert,
    OpenEngine,
    Ranker,
    ReplayCache,
    ReplayPlan,
)
from propagation.laboratory.methods.recnet.numbers_method import NumbersMethod
from propagation.laboratory.methods.recnet.point_to_point import (
    LinkReasoner,
    ModelAnswers,
    OfflineAnswers,
    PointToPoint,
)
from propagation.laboratory.methods.recnet.question_counts import CountedReasoner
from propagation.laboratory.methods.recnet.question_estimate import EnginePace
from propagation.laboratory.methods.recnet.variants import (
    ENGINE_VARIANTS,
    NUMBERS_VARIANTS,
    EngineVariant,
)

__all__ = [
    "ENGINE_VARIANTS",
    "NUMBERS_VARIANTS",
    "AskingRecNet",
    "Convert",
    "CountedReasoner",
    "EnginePace",
    "EngineVariant",
    "LinkReasoner",
    "ModelAnswers",
    "NumbersMethod",
    "OfflineAnswers",
    "OpenEngine",
    "PointToPoint",
    "Ranker",
    "RecNet",
    "ReplayCache",
    "ReplayPlan",
]
