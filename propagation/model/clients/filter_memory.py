"""The filter memory: at most eight rules that steer how a client merges what it receives (RecNet
2.3.2)."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from propagation.model.base import value

MAX_RULES = 8
FACTOR_MIN, FACTOR_MAX = 0.25, 4.0
DROP_BELOW = 0.5


@value
class FilterRule:
    """Names a router or an attribute (exactly one). `factor` in .25..4 multiplies routing weights
    at reading and orders lines at reception; below .5 the line is dropped. `age` is the sequence it
    was last confirmed at."""

    factor: float
    text: str
    router: int | None = None
    attribute: str | None = None
    evidence: tuple[int, ...] = ()
    age: int = 0

    @property
    def target(self) -> tuple[int | None, str | None]:
        return (self.router, self.attribute)


@value
class FilterMemory:
    """A client's rules; none at first."""

    rules: tuple[FilterRule, ...] = ()

    def factor_for(self, router: int, attributes: Collection[str]) -> float:
        """The product of the matching rules' factors, clipped to .25..4; 1 where none matches."""
        if not self.rules:
            return 1.0
        factor = 1.0
        for rule in self.rules:
            if rule.router == router or (
                rule.attribute is not None and rule.attribute in attributes
            ):
                factor *= rule.factor
        return min(max(factor, FACTOR_MIN), FACTOR_MAX)

    def factors(self, count: int, held: Mapping[int, Collection[str]]) -> list[float]:
        """`factor_for` of the routers 0 to `count` - 1, by the attributes that each holds."""
        factors = [1.0] * count
        for rule in self.rules:
            named = rule.attribute
            matching = (
                {router for router in range(count) if named in held.get(router, ())}
                if named is not None
                else set()
            )
            if rule.router is not None and rule.router < count:
                matching.add(rule.router)
            for router in matching:
                factors[router] *= rule.factor
        return [min(max(factor, FACTOR_MIN), FACTOR_MAX) for factor in factors]

    def with_rule(self, rule: FilterRule) -> "FilterMemory":
        """This rule added, or in place of the one with its target; the least evidenced, then
        oldest, falls out."""
        factor = min(max(rule.factor, FACTOR_MIN), FACTOR_MAX)
        bounded = rule if factor == rule.factor else replace(rule, factor=factor)
        rules = [old for old in self.rules if old.target != bounded.target] + [bounded]
        if len(rules) > MAX_RULES:
            rules.remove(min(rules[:-1], key=lambda old: (len(old.evidence), old.age)))
        return FilterMemory(rules=tuple(rules))
