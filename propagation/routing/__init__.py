"""Centralised preference routing (RecNet 2.2).

One file for each step: attribute_extraction (eq. 1), initial_clustering (2.2.1), perception (eq. 2,
and by the first centres), integration (eq. 3) with the routers' names, multicast (eq. 4) above the
threshold tau, and the routing table. `policy.py` is the interface of a routing policy;
adoption_policy and semantic_policy (eq. 2 and 4) implement it.
"""

from propagation.routing.adoption_policy import AdoptionPolicy, TasteWeights, Weights
from propagation.routing.attribute_extraction import (
    catalogue_attributes,
    changed_attributes,
    is_catalogue,
    own_attributes,
    recount_holders,
    supported_names,
)
from propagation.routing.canonical_attributes import canonical_names, to_canonical, words_likeness
from propagation.routing.initial_clustering import (
    nearest_centres,
    random_directions,
    spherical_kmeans,
)
from propagation.routing.integration import (
    STANDING_KEPT,
    integration_requests,
    largest_weights,
    mean_shares,
    next_version,
)
from propagation.routing.perception import CentrePerception
from propagation.routing.policy import (
    Arrival,
    ArrivalsByRouter,
    Perception,
    PostponedArrivals,
    RoutingPolicy,
    UpdatedRouters,
)
from propagation.routing.router_names import RouterNames, name_versions
from propagation.routing.routing_table import (
    RoutingTable,
    TableChange,
    stage_table_change,
    table_changes,
)
from propagation.routing.semantic_policy import SemanticPolicy
from propagation.routing.threshold import quantile_tau

__all__ = [
    "STANDING_KEPT",
    "AdoptionPolicy",
    "Arrival",
    "ArrivalsByRouter",
    "CentrePerception",
    "Perception",
    "PostponedArrivals",
    "RouterNames",
    "RoutingPolicy",
    "RoutingTable",
    "SemanticPolicy",
    "TableChange",
    "TasteWeights",
    "UpdatedRouters",
    "Weights",
    "canonical_names",
    "catalogue_attributes",
    "changed_attributes",
    "integration_requests",
    "is_catalogue",
    "largest_weights",
    "mean_shares",
    "name_versions",
    "nearest_centres",
    "next_version",
    "own_attributes",
    "quantile_tau",
    "random_directions",
    "recount_holders",
    "spherical_kmeans",
    "stage_table_change",
    "supported_names",
    "table_changes",
    "to_canonical",
    "words_likeness",
]
