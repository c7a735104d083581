"""What a paper claims of its figures."""

from dataclasses import dataclass

from propagation.arrays import Bools
from propagation.laboratory.history import Known


@dataclass(frozen=True)
class Slice:
    """Targets of which a certain number of interactions is known.

    Attributes:
        of: "history": known interactions of the user; "adopters": users known to have the item.
        least: The lower bound; `most` is the upper one, None without end.
    """

    of: str
    least: int
    most: int | None

    def __str__(self) -> str:
        """Return the bounds in words."""
        span = f"{self.least}" if self.most == self.least else f"{self.least} to {self.most}"
        if self.most is None:
            span = f"{self.least} or more"
        what = "interactions of the user" if self.of == "history" else "adopters of the item"
        return f"{span} known {what}"

    def select(self, known: Known) -> Bools:
        """Return [T] which targets belong to the slice."""
        counts = known.history if self.of == "history" else known.adopters
        selected: Bools = counts >= self.least
        return selected if self.most is None else selected & (counts <= self.most)


@dataclass(frozen=True)
class Claim:
    """An order of two figures, or that they do not differ.

    The figures are one measure of two methods, or two measures of one method, such as before and
    after.

    Attributes:
        greater: The method with the larger figure; `less` is that of the other figure.
        measure: One of the protocol's measures, "seconds", or one of the methods' own counts.
        differs: False if the claim is that the figures do not differ.
        among: The targets that count; None: all.
        than: The measure of the other figure; "": the same. Both are measures of targets.
    """

    greater: str
    less: str
    measure: str = "n10"
    differs: bool = True
    among: Slice | None = None
    than: str = ""

    @property
    def measure_of_less(self) -> str:
        """The measure of the other figure."""
        return self.than or self.measure

    def __str__(self) -> str:
        """Return the claim in words."""
        relation = ">" if self.differs else "="
        among = f", {self.among}" if self.among else ""
        if self.than:
            other = self.than if self.less == self.greater else f"{self.than} of {self.less}"
            return f"{self.greater}: {self.measure} {relation} {other}{among}"
        return f"{self.greater} {relation} {self.less} in {self.measure}{among}"


def claim_change(method: str, after: str, before: str) -> Claim:
    """Claim that one measure of a method is larger than another."""
    return Claim(method, method, after, than=before)
