"""Rules 1 to 5 of docs/numbers.md, and what they count."""

from propagation.numbers.products import multiply_rows
from propagation.numbers.rules.combiner import (
    LEAST_DEVIATIONS,
    LEAST_LIFT_DEVIATION,
    START_WEIGHT,
    Combiner,
    adjust_for_newcomers,
    compute_maturity,
    create_combiner,
    find_adopter_bin,
    find_deviation,
    get_weight,
    learn_pairs,
    observe,
    pack_combiner,
    score,
    standardise,
    unpack,
)
from propagation.numbers.rules.features import (
    FEATURES,
    KNN_FLOOR,
    PROPAGATED,
    READ_ROUTERS,
    RECENT_FLOOR,
    RECENT_HALF_LIFE,
    Feature,
    Standpoint,
    compute_standpoint,
    decay_count,
    fill_features,
    fill_from,
    has_history,
    normalize_vector,
)
from propagation.numbers.rules.mass import (
    PRIOR,
    START_SHARPNESS,
    compute_lift,
    compute_lifts,
    compute_readings,
    share_of,
    start_mass,
    write,
)
from propagation.numbers.rules.neighbours import (
    CO_DECAY,
    CO_HISTORY,
    HISTORY,
    KEPT,
    NEIGHBOURS,
    add_co_adoptions,
    compute_nearness,
    count_together,
    find_place,
    gather_neighbours,
    list_past_items,
    release_neighbours,
    remember,
)
from propagation.numbers.rules.trust import (
    LIFT_CLIP,
    add_trust,
    compute_routing_weights,
    find_largest,
    find_softmax_largest,
)
from propagation.numbers.seen_items import (
    EMPTY,
    add_key,
    add_seen,
    find_slot,
    has_seen,
    list_seen_items,
    rehash,
)
