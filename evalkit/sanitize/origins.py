"""Which rule found a value, and whether it is sure: for the record, and for the list that a person looks through."""

from __future__ import annotations

from evalkit.sanitize.claim import Claim
from evalkit.sanitize.lexicon import Entity, entity_of

__all__ = ["Origins"]


class Origins:
    """For each value the rule that found it; of several the surest, then the first by name, whatever the order."""

    def __init__(self) -> None:
        self._rules: dict[Entity, tuple[bool, str]] = {}
        self._claims: dict[Entity, Claim] = {}

    def add(self, claim: Claim, rule: str, *, sure: bool) -> None:
        """Note that `rule` made `claim`."""
        entity = entity_of(claim)
        here = (not sure, rule)
        if entity not in self._rules or here < self._rules[entity]:
            self._rules[entity] = here
        known = self._claims.get(entity)
        if known is None or (-len(claim.text), claim.text) < (-len(known.text), known.text):
            self._claims[entity] = claim

    def rule(self, entity: Entity) -> str:
        """The rule that found a value, after its kind: ``email key``; ``other`` for one that nothing is noted of."""
        return f"{entity.kind} {self._rules.get(entity, (False, 'other'))[1]}"

    def unsure(self, entity: Entity) -> Claim | None:
        """The longest claim of a value of which no rule was sure; None for all others."""
        return self._claims[entity] if self._rules.get(entity, (False, ""))[0] else None
