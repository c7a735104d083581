"""Learning of the numbers from the log; their checkpoints and their rebuild."""

from propagation.workflow.learn.checkpoints import (
    Arrays,
    borrow_checkpoint,
    borrow_own_rows,
    borrow_remainder,
    make_patch,
    restore_view,
    take_checkpoint,
)
from propagation.workflow.learn.item_embedding import RefusedTexts, apply_clients
from propagation.workflow.learn.learned_blocks import (
    BLOCKS_A_READ,
    TASTE,
    AlignedBlock,
    WrittenRows,
    gather,
    read_aligned_blocks,
    sum_by_place,
)
from propagation.workflow.learn.learner import Learner
from propagation.workflow.learn.rebuild import rebuild
