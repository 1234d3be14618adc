"""JSON Schemas that state the form of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from evalkit.canonical import Json
from evalkit.check.values import pattern_of
from evalkit.errors import InputError

if TYPE_CHECKING:
    from referencing import Resource
    from referencing._core import Resolver

__all__ = ["schema_of"]

_SAMPLES: tuple[Json, ...] = (None, True, 0, "", [], {})
_ONLY_SAID = frozenset(
    "$schema $id $anchor $comment $defs $vocabulary definitions id title description default examples deprecated "
    "readOnly writeOnly".split()
)
"""Keywords that state nothing of a value."""


def schema_of(schema: Any, where: str) -> Callable[[Json], str]:
    """A function that says what breaks a JSON Schema (2020-12 unless ``$schema`` says otherwise); empty when nothing.

    References to other documents are not followed, and ``pattern`` is RE2.

    Raises:
        InputError: it is no schema, one that anything keeps, or one with a reference that leads nowhere or in a circle.
    """
    import jsonschema
    from referencing import Registry
    from referencing import jsonschema as drafts

    if not isinstance(schema, dict) or _ONLY_SAID.issuperset(schema):
        raise InputError(f"{schema!r} states nothing", where, '{"type": "object", "required": ["id"]}')
    if not isinstance(schema.get("$schema", ""), str):
        raise InputError(f"$schema is {schema['$schema']!r}", where, "leave it out")
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise InputError(f"no JSON Schema: {error.message}", where, "correct it") from None
    dialect = drafts.specification_with(kind.META_SCHEMA["$schema"])
    resource: Resource[Any] = dialect.create_resource(schema)
    registry: Registry[Any] = Registry()
    _look_through(resource, registry.resolver_with_root(resource), where)
    validator = jsonschema.validators.extend(kind, {"pattern": _pattern})(schema, registry=registry)

    def broken(value: Json) -> str:
        try:
            found = jsonschema.exceptions.best_match(validator.iter_errors(value))
        except RecursionError:
            raise InputError("the JSON Schema leads in a circle", where, "correct its $ref") from None
        return "" if found is None else f"{found.json_path}: {found.message}"

    for sample in _SAMPLES:
        broken(sample)
    return broken


def _look_through(resource: Resource[Any], resolver: Resolver[Any], where: str) -> None:
    """Looks at every reference and pattern, also where no value has led so far.

    Raises:
        InputError: a reference leads nowhere or to another document, or a pattern is none.
    """
    from referencing.exceptions import Unresolvable

    body = resource.contents
    for key in ("$ref", "$dynamicRef", "$recursiveRef"):
        if isinstance(body, dict) and isinstance(body.get(key), str):
            try:
                resolver.lookup(body[key])
            except Unresolvable:
                raise InputError(f"{key} {body[key]!r} leads nowhere in the schema", where, "correct it") from None
    if isinstance(body, dict) and "pattern" in body:
        pattern_of(body["pattern"], where)
    for part in resource.subresources():
        _look_through(part, resolver.in_subresource(part), where)


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema

    if isinstance(value, str) and pattern_of(pattern, "JSON Schema").search(value) is None:
        yield jsonschema.ValidationError(f"{value[:80]!r} does not match {pattern!r}")
