"""The attributes of a router whose earlier text an undo brings back."""

from propagation.model import RouterVersion
from propagation.workflow.evolve.undo_planner import find_largest_attributes


def test_they_are_the_largest_of_its_standing():
    standing = {"chess": 0.5, "sea": 30.0, "cold-brew": 40.0, "soup": 1.0, "books": 5.0}
    version = RouterVersion(1, 1, 1, 1, "sea", "t", standing=tuple(standing.items()))
    assert find_largest_attributes(version) == ("cold-brew", "sea", "books", "soup", "chess")
