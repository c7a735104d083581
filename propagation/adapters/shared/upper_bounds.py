"""The upper bound of a page that is listed newest first."""

ABOVE_ALL = 1 << 62


def get_bound(before: int | None) -> int:
    """Return the number that all of a page are below.

    A query with `OR before IS NULL` would not use its index.

    Args:
        before: Of a sequence, a version or a run; None: the newest page.
    """
    return ABOVE_ALL if before is None else before
