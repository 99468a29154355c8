"""Strategic merge patch: like a merge patch, but lists whose elements have a key are merged element by element.

The schema says which lists these are, and their key. Directives in the patch change how a part of it is merged:

    $patch: replace | delete            this object; in an element: the whole list, the element with this key
    $retainKeys: [...]                  keep or add these members, remove all others of the object
    $deleteFromPrimitiveList/F: [...]   remove these values from the list F
    $setElementOrder/F: [...]           the order of the list F afterwards

Errors without a status in kube-apiserver are a 500 as there, with its messages.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.api_errors import StatusError, bad_request
from bayplan.apiserver.patches.element_order import Elements, in_order
from bayplan.apiserver.patches.go_values import go_type, go_value
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.schema.schema_node import SchemaNode

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"

_BAD_DELETE: Final = "invalid patch format of primitive list"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"
_BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"


def apply(current: Object, patch: Object, schema: SchemaNode) -> Object:
    """`current` merged with the patch; consumes both."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    _retain_keys(current, patch)
    _merge_ordered_lists(current, patch, schema)
    for key, value in patch.items():
        if key.startswith(_DELETE):
            _delete_from_list(current, _directed_field(key, _BAD_DELETE), value)
        else:
            _merge_member(current, key, value, schema)
    return current


def _failed(message: str) -> StatusError:
    return StatusError(500, "", message)


def _directed(patch: Object) -> Object:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        del patch[_DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise _failed(f"unknown patch type: {go_value(directive)} in map: {go_value(patch)}")


def _retain_keys(current: Object, patch: Object) -> None:
    if _RETAIN_KEYS not in patch:
        return
    keys = patch.pop(_RETAIN_KEYS)
    if not isinstance(keys, list):
        raise bad_request(_BAD_RETAIN_KEYS)
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE, _ORDER)) and key not in keys:
            raise bad_request(_BAD_RETAIN_KEYS)
    for key in [key for key in current if key not in keys]:
        del current[key]


def _directed_field(key: str, message: str) -> str:
    directive, slash, field = key.partition("/")
    if not slash or directive not in (_DELETE, _ORDER):
        raise bad_request(message)
    return field


def _merge_member(current: Object, key: str, value: Any, schema: SchemaNode) -> None:
    if value is None:
        current.pop(key, None)
        return
    before = current.get(key)
    if isinstance(before, dict) and isinstance(value, dict):
        node = _field(schema, key)
        current[key] = value if _strategy(node) == "replace" else apply(before, value, node)
    elif isinstance(before, list) and isinstance(value, list):
        node = _field(schema, key)
        current[key] = _merged_list(before, value, node) if _strategy(node) == "merge" else value
    else:
        _set(current, key, value)


def _set(current: Object, key: str, value: Any) -> None:
    """Take a value that replaces nothing of its type: with nothing to merge into, directives have no effect."""
    if isinstance(value, dict) and _DIRECTIVE in value:
        current.pop(key, None)
    else:
        current[key] = _without_directives(_without_nulls(value))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_directives(member) for key, member in value.items() if not _is_directed(member)}
    if isinstance(value, list):
        return [_without_directives(element) for element in value if not _is_directed(element)]
    return value


def _is_directed(value: Any) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _field(schema: SchemaNode, key: str) -> SchemaNode:
    node = schema.child(key) if schema.declares(key) else None
    if node is None:
        raise _failed(f'unable to find api field for the json field "{key}"')
    return node


def _strategy(node: SchemaNode) -> str:
    return node.patch_strategy.replace("retainKeys", "").strip(",")


# Lists.


def _merged_list(before: list[Any], patch: list[Any], node: SchemaNode) -> list[Any]:
    if not before and not patch:
        return before
    if not _holds_objects(before, patch):
        merged = list(dict.fromkeys([*before, *patch]))
        return in_order(merged, Elements(patch), Elements(before))
    if not node.merge_key:
        raise _failed(f"cannot merge lists without merge key for {node.item().kind or 'interface'}")
    before, patch = _directed_elements(before, patch, node.merge_key)
    server_order = Elements(before, node.merge_key)
    merged = _merged_elements(before, patch, node)
    _check_keys(merged, node.merge_key)
    return in_order(merged, Elements(patch, node.merge_key), server_order)


def _holds_objects(before: list[Any], patch: list[Any]) -> bool:
    types = {type(element) for element in (*before, *patch)}
    if not types:
        raise _failed("no elements in any of the given slices")
    if list in types:
        raise StatusError(
            422, "Invalid", "the server rejected our request due to an error in our request", details={}
        )
    if len(types) > 1:
        raise _failed(f"list element types are not identical: {go_value([before, patch])}")
    return dict in types


def _directed_elements(before: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Both lists after the directives in elements of the patch, which are removed from it."""
    replace, left = False, []
    for element in patch:
        directive = element.get(_DIRECTIVE)
        if _DIRECTIVE not in element:
            left.append(element)
        elif directive == "delete":
            key = _key_of(element, merge_key)
            before = [other for other in before if merge_key not in other or other[merge_key] != key]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise _failed("merging lists cannot yet be specified in the patch")
        else:
            raise _failed(f"unknown patch type: {go_value(directive)} in map: {go_value(element)}")
    return (left, []) if replace else (before, left)


def _merged_elements(before: list[Any], patch: list[Any], node: SchemaNode) -> list[Any]:
    merged, item = list(before), node.item()
    for element in patch:
        key = _key_of(element, node.merge_key)
        at = next((i for i, other in enumerate(merged) if _same_key(other, node.merge_key, key)), None)
        if at is None:
            merged.append(element)
        else:
            merged[at] = apply(merged[at], element, item)
    return merged


def _same_key(element: Object, merge_key: str, key: Any) -> bool:
    return merge_key in element and bool(element[merge_key] == key)


def _key_of(element: Object, merge_key: str) -> Any:
    if merge_key not in element:
        raise _failed(f"map: {go_value(element)} does not contain declared merge key: {merge_key}")
    return element[merge_key]


def _check_keys(elements: list[Any], merge_key: str) -> None:
    for element in elements:
        _key_of(element, merge_key)


def _delete_from_list(current: Object, key: str, values: Any) -> None:
    if values is None:
        current.pop(key, None)
    before = current.get(key)
    if not isinstance(before, list) or not isinstance(values, list) or not (before or values):
        return
    if _holds_objects(before, values):
        raise _failed("cannot merge lists without merge key for struct")
    current[key] = [value for value in before if value not in values]


# Lists whose order the patch sets. They are merged first, and their parts of the patch are then dropped.


def _merge_ordered_lists(current: Object, patch: Object, schema: SchemaNode) -> None:
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        order = _list(patch.pop(directive))
        field = _directed_field(directive, _BAD_ORDER)
        before = _list(current[field]) if field in current else None
        changes = _list(patch[field]) if field in patch else None
        node = _field(schema, field)
        _check_order(changes or [], order, node.merge_key)
        if before is None and changes is None:
            continue
        current[field] = _ordered(before, changes, order, node)
        patch.pop(field, None)


def _ordered(before: list[Any] | None, changes: list[Any] | None, order: list[Any], node: SchemaNode) -> list[Any]:
    has_keys = _holds_objects(before or [], changes or [])
    if changes is None:
        merged = before or []
    elif before is None:
        merged = _without_directives(changes)
    elif _strategy(node) == "merge":
        merged = _merged_list(list(before), changes, node)
    else:
        merged = changes
    if has_keys:
        _check_keys(merged, node.merge_key)
    places = _places(before or [], changes or [], node.merge_key)
    return in_order(merged, Elements(order, node.merge_key), Elements(places, node.merge_key))


def _places(before: list[Any], changes: list[Any], merge_key: str) -> list[Any]:
    """The previous order of the list, for elements that the patch does not order.

    kube-apiserver deletes from and appends to the same list that it then uses for that order: new elements take
    the places of deleted ones, at the end.
    """
    gone = [change.get(merge_key) for change in changes if _is_directed(change)]
    if not gone or not merge_key:
        return before
    left = [element for element in before if element[merge_key] not in gone]
    there = [element[merge_key] for element in left]
    new = [change for change in changes if not _is_directed(change) and change[merge_key] not in there]
    return [*left, *new][: len(before)]


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """Elements of the patch must be in the order that it sets, and all of them in it; deletions aside."""
    if not changes or not order:
        return
    wanted = iter(order)
    for element in changes:
        if _is_directed(element):
            continue
        key = _key_of(element, merge_key) if merge_key else element
        if not any((_key_of(other, merge_key) if merge_key else other) == key for other in wanted):
            there, wanted_there = go_value(changes), go_value(order)
            raise _failed(f"The order in patch list:\n{there}\n doesn't match {_ORDER} list:\n{wanted_there}\n")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _failed(f"expected a []interface {{}}, but received a {go_type(value)}")
    return value
