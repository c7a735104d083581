"""A filter rule as a JSON object, and back."""

from typing import Any

from propagation.model import FilterRule


def rule_row(rule: FilterRule) -> dict[str, object]:
    """Return the object that stands for a rule."""
    return {
        "router": rule.router,
        "attribute": rule.attribute,
        "factor": rule.factor,
        "text": rule.text,
        "evidence": rule.evidence,
        "age": rule.age,
    }


def rule_of(row: dict[str, Any]) -> FilterRule:
    """Build a rule from its object."""
    return FilterRule(**{**row, "evidence": tuple(row["evidence"])})
