"""Counts of the interactions that a stopped service left in its database."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcomes:
    """Counts of interactions.

    Attributes:
        reasoned: Reasoned interactions, dead letters included.
        dead: Dead letters.
        doubled: Interactions with two gradients of one module other than a router.
    """

    reasoned: int
    dead: int
    doubled: int


def outcomes_of(database: Path) -> Outcomes:
    """Count the interactions of a service that has stopped."""
    with closing(sqlite3.connect(database)) as connection:

        def one(query: str) -> int:
            return int(connection.execute(query).fetchone()[0])

        return Outcomes(
            reasoned=one("SELECT count(*) FROM interaction JOIN reasoned USING (sequence)"),
            dead=one("SELECT count(*) FROM dead_letter"),
            doubled=one(
                "SELECT count(DISTINCT sequence) FROM (SELECT sequence FROM gradient WHERE "
                "module <> 'router'"
                " GROUP BY sequence, module, owner HAVING count(*) > 1)"
            ),
        )
