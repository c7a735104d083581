"""Centralised preference routing (RecNet 2.2).

One file for each step: attribute_extraction (eq. 1), initial_clustering (2.2.1), perception (eq. 2,
and by the first centres), integration (eq. 3) with the routers' names, multicast (eq. 4) above the
threshold tau, and the routing table. `policy.py` is the interface of a routing policy;
adoption_policy and semantic_policy (eq. 2 and 4) implement it.
"""

from propagation.routing.adoption_policy import AdoptionPolicy, Weights
from propagation.routing.attribute_extraction import (
    find_changed_attributes,
    is_catalogue,
    list_catalogue_attributes,
    list_own_attributes,
    list_supported_names,
    recount_holders,
)
from propagation.routing.canonical_attributes import (
    find_canonical_names,
    measure_words_likeness,
    to_canonical,
)
from propagation.routing.initial_clustering import (
    draw_random_directions,
    find_nearest_centres,
    run_spherical_kmeans,
)
from propagation.routing.integration import (
    STANDING_KEPT,
    build_integration_requests,
    build_next_version,
    compute_mean_shares,
    find_largest_weights,
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
from propagation.routing.router_names import RouterNames, name_router_versions
from propagation.routing.routing_table import (
    TableChange,
    find_table_changes,
    stage_table_change,
)
from propagation.routing.semantic_policy import SemanticPolicy
from propagation.routing.threshold import compute_quantile_tau
