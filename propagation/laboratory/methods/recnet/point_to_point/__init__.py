"""Propagation from client to client, without routers.

Source:
    RecNet 3.3 ("w/o CPR"); 3.4.4, Table 4; 3.4.5, Table 5 ("w/o router").
"""

from propagation.laboratory.methods.recnet.point_to_point.model_answers import ModelAnswers
from propagation.laboratory.methods.recnet.point_to_point.offline_answers import OfflineAnswers
from propagation.laboratory.methods.recnet.point_to_point.propagation import PointToPoint
from propagation.laboratory.methods.recnet.point_to_point.way import (
    Content,
    LinkReasoner,
    Way,
)

__all__ = ["Content", "LinkReasoner", "ModelAnswers", "OfflineAnswers", "PointToPoint", "Way"]
