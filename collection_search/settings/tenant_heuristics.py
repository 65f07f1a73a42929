"""The setting `heuristics`: rules for all tenants, for one, and for one of its collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from ..contracts.heuristic_rules import HeuristicRules, OwnWeights
from ..contracts.search import Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self


class TenantRules(HeuristicRules):
    """The rules of one tenant."""

    collections: dict[Name, HeuristicRules] = Field(default_factory=dict)
    """Rules of single collections; they win."""


class TenantHeuristics(HeuristicRules):
    """The rules of all tenants; those of one tenant win over them, field by field."""

    tenants: dict[Name, TenantRules] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _weigh_something(self) -> Self:
        for place, rules in self._merged():
            if (weights := rules.weights) and not weights.title + weights.coverage:
                raise ValueError(
                    f"{place}the weights of title and coverage may not both be 0: give one a number"
                )
        return self

    def _merged(self) -> Iterator[tuple[str, HeuristicRules]]:
        """Yield the rules that are in force somewhere, after their place."""
        yield "", self.rules_for("", "")
        for tenant, own in self.tenants.items():
            for collection in ("", *own.collections):
                place = ".".join(filter(None, ("tenants", tenant, collection)))
                yield f"{place}: ", self.rules_for(tenant, collection)

    def rules_for(self, tenant: str, collection: str) -> HeuristicRules:
        """Return the rules in force for a collection of a tenant.

        A field that the collection names wins over the tenant's, this over that of all. Weights
        are merged one by one. A list takes the place of the wider one.

        >>> rules = TenantHeuristics.model_validate({
        ...     "language": "de", "weights": {"title": 40},
        ...     "tenants": {"acme": {"weights": {"coverage": 10}, "collections": {
        ...         "py": {"language": None}}}}})
        >>> found = rules.rules_for("acme", "py")
        >>> found.language, found.weights.title, found.weights.coverage
        (None, 40.0, 10.0)
        >>> rules.rules_for("other", "py").language
        'de'
        """
        own = self.tenants.get(tenant, TenantRules())
        narrow = own.collections.get(collection, HeuristicRules())
        chain = [_named(self), _named(own), _named(narrow)]
        weights = _weights(chain)
        fields: dict[str, Any] = {}
        for given in chain:
            fields |= given
        return HeuristicRules().model_copy(update=fields | {"weights": weights})


def _named(rules: HeuristicRules) -> dict[str, Any]:
    """Return the fields that the settings name."""
    fields = rules.model_fields_set & HeuristicRules.model_fields.keys()
    return {name: getattr(rules, name) for name in fields}


def _weights(chain: Sequence[Mapping[str, Any]]) -> OwnWeights | None:
    """Return the weights of all levels as one; null takes the usual ones back."""
    merged: dict[str, float] | None = None
    for given in chain:
        if "weights" not in given:
            continue
        weights: OwnWeights | None = given["weights"]
        if weights is None:
            merged = None
        else:
            merged = (merged or {}) | weights.model_dump(exclude_unset=True)
    return None if merged is None else OwnWeights(**merged)


def heuristic_names(path: Sequence[str]) -> list[str]:
    """Return the names that may stand where a path below `heuristics` ends.

    >>> "tenants" in heuristic_names(["heuristics", "tenant"])
    True
    >>> heuristic_names(["heuristics", "tenants", "acme", "weights", "titel"])[:2]
    ['embedding_share', 'title']
    """
    if path[-2] == "weights":
        return [*OwnWeights.model_fields]
    if path[-2] == "heuristics":
        return [*TenantHeuristics.model_fields]
    is_tenant = path[-3] == "tenants"
    return [*(TenantRules if is_tenant else HeuristicRules).model_fields]
