"""Products of vectors in 32 bits.

The compiler may order their sums as it likes.
"""

import numpy as np

from propagation.numbers.kernels import kernel

SUMS_IN_ANY_ORDER = {"reassoc", "contract", "nsz"}


@kernel(fastmath=SUMS_IN_ANY_ORDER)
def multiply(one, other):
    """Return the dot product of two vectors of 32 bits."""
    total = np.float32(0)
    for column in range(len(one)):
        total += one[column] * other[column]
    return total


@kernel(fastmath=SUMS_IN_ANY_ORDER)
def multiply_rows(matrix, rows, vector, out):
    """Multiply rows of a matrix by a vector.

    It is four times faster than BLAS at 48 to 80 columns.

    Args:
        matrix: [.,D] f32.
        rows: The rows [n] to take.
        vector: [D] f32.
        out: [n], filled.
    """
    for place in range(len(rows)):
        row = rows[place]
        total = np.float32(0)
        for column in range(len(vector)):
            total += matrix[row, column] * vector[column]
        out[place] = total
