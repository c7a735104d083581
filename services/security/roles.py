"""The roles that a token may have."""

from enum import StrEnum


class Role(StrEnum):
    """`read` sees items, counts and routers; `analyst` reads, and sees users by id; `admin` writes,
    reads and operates."""

    WRITE = "write"
    READ = "read"
    ANALYST = "analyst"
    ADMIN = "admin"
