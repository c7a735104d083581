"""The filter memory: at most eight rules for merging messages.

Source: RecNet 2.3.2.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from propagation.model.base import value

MAX_RULES = 8
FACTOR_MIN, FACTOR_MAX = 0.25, 4.0
DROP_BELOW = 0.5


@value
class FilterRule:
    """A rule about one router or one attribute.

    Attributes:
        factor: 0.25 to 4. Multiplies routing weights in reads (docs/numbers.md, rule 2) and orders
            messages at reception, which refuses messages whose factor is below 0.5.
        router: The router, or None.
        attribute: The attribute, or None; a rule names exactly one of the two.
        evidence: Sequences of the interactions that the rule rests on.
        age: Sequence at which the rule was last confirmed.
        first_router: The router's number at `age`, if evolutions have moved the rule to another
            number since; else None.
    """

    factor: float
    text: str
    router: int | None = None
    attribute: str | None = None
    evidence: tuple[int, ...] = ()
    age: int = 0
    first_router: int | None = None

    @property
    def target(self) -> tuple[int | None, str | None]:
        """The router or attribute that the rule names."""
        return (self.router, self.attribute)

    def move(self, router: int) -> "FilterRule":
        """Move the rule to the number that an evolution gave its router."""
        if router == self.router:
            return self
        first = self.router if self.first_router is None else self.first_router
        return replace(self, router=router, first_router=None if router == first else first)


@value
class FilterMemory:
    """A client's rules, at most eight; none at first."""

    rules: tuple[FilterRule, ...] = ()

    def get_factor(self, router: int, attributes: Collection[str]) -> float:
        """Multiply the factors of matching rules.

        Returns:
            The product, clipped to 0.25..4; 1 without a match.
        """
        if not self.rules:
            return 1.0
        product = 1.0
        for rule in self.rules:
            if rule.router == router or (
                rule.attribute is not None and rule.attribute in attributes
            ):
                product *= rule.factor
        return min(max(product, FACTOR_MIN), FACTOR_MAX)

    def factors(self, count: int, held: Mapping[int, Collection[str]]) -> list[float]:
        """Return the factors of routers 0 to count - 1; see `get_factor`.

        Args:
            held: Attributes of each router.
        """
        return [self.get_factor(router, held.get(router, ())) for router in range(count)]

    def since(self, bootstrap: int) -> "FilterMemory":
        """Leave out rules about routers that a bootstrap has replaced.

        Their numbers stand for other routers now.

        Args:
            bootstrap: Sequence of the newest bootstrap; 0 before the first.

        Returns:
            The memory; the same object if nothing is left out.
        """
        kept = tuple([rule for rule in self.rules if rule.router is None or rule.age >= bootstrap])
        return self if len(kept) == len(self.rules) else FilterMemory(rules=kept)

    def with_rule(self, rule: FilterRule) -> "FilterMemory":
        """Add a rule, or replace the one with the same target.

        A ninth rule displaces the old rule with the least evidence; among equals, the one that was
        confirmed longest ago.
        """
        factor = min(max(rule.factor, FACTOR_MIN), FACTOR_MAX)
        bounded = rule if factor == rule.factor else replace(rule, factor=factor)
        rules = [old for old in self.rules if old.target != bounded.target] + [bounded]
        if len(rules) > MAX_RULES:
            rules.remove(min(rules[:-1], key=lambda old: (len(old.evidence), old.age)))
        return FilterMemory(rules=tuple(rules))
