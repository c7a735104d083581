"""AFL: a recommendation agent and a user agent in a feedback loop.

Source:
    AFL, section 3.
"""

from propagation.laboratory.methods.afl.agents import Agents
from propagation.laboratory.methods.afl.feedback_loop import FeedbackLoop, RecommendationAgent
from propagation.laboratory.methods.afl.ranker import RankedList, UserRanker
from propagation.laboratory.methods.afl.user_agent import UserAgent

__all__ = ["Agents", "FeedbackLoop", "RankedList", "RecommendationAgent", "UserAgent", "UserRanker"]
