"""AgentCF: users and items as agents that learn from each other's interactions.

`method` is the method of the laboratory. `learning` optimizes the agents on interactions;
`inference` ranks by them.

Source:
    AgentCF, sections 3 and 4; https://github.com/RUCAIBox/AgentCF (agentcf/model/agentcf.py).
"""

from propagation.laboratory.agentcf.method import AgentCF, list_variants
from propagation.laboratory.agentcf.variant import Prompting, Variant

__all__ = ["AgentCF", "Prompting", "Variant", "list_variants"]
