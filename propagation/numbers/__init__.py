"""The numbers: lift, trust, mass and the combiner, compiled with numba.

Everything here is synchronous, deterministic and free of I/O. Only one thread at a time may change
a state.

Source: docs/numbers.md, rules 1 to 5.
"""

from propagation.numbers.evolved_bank import (
    Written,
    evolve_bank,
    evolve_centres,
    evolve_mass,
    evolve_seen,
    evolve_total,
    evolve_trust,
    find_retired,
    retire_spare_rows,
)
from propagation.numbers.factors import (
    ITEM_TABLES,
    build_settings,
    create_factors,
    relearn_factors,
    reset_item,
    reset_taste,
    with_item_rows,
    with_user_rows,
)
from propagation.numbers.holdout_replay import (
    MOST_BACK,
    HoldoutEvents,
    Tastes,
    copy_tastes,
    replay_events,
    rewind,
    rewind_content,
)
from propagation.numbers.learn import (
    CONTENT_DECAY,
    FOLLOW,
    LEARN,
    RELEARN,
    apply_one,
    choose_routers,
    compute_increments,
    learn_arms,
    learn_block,
)
from propagation.numbers.limits import LEAST_SUPPORT, MASS_A_DAY, NO_LIMITS, is_withheld
from propagation.numbers.negatives import RECORDED, draw_negatives
from propagation.numbers.seeded_hash import mix_seed
from propagation.numbers.state import (
    BY_ITEM,
    BY_SEEN,
    BY_USER,
    INTERACTIONS,
    ITEMS,
    SEEN,
    SESSION_DISCOUNT,
    USERS,
    Bank,
    State,
    create_state,
)
from propagation.numbers.state_arrays import (
    pack_neighbours,
    refill_seen,
    unpack_neighbours,
    with_room,
)
from propagation.numbers.subtraction import (
    add_together,
    compute_own_sums,
    drop_keys,
    drop_neighbour,
    empty_row,
    fade_recent,
    fill_own_pairs,
    recompute_own_trust,
    unwrite,
)
