"""Metadata common to all objects: ObjectMeta, owners, label selectors as the API writes them, conditions.

Times stay RFC 3339 strings, as the API sends them; `bayplan.model.times` reads them where they matter.
"""

from msgspec import field

from bayplan.model.base import Part


class OwnerReference(Part, frozen=True, kw_only=True):
    """The object that owns this one; at most one owner is the controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Part, frozen=True, kw_only=True):
    """Name, identity and labels of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object (`controller: true`), if any."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class LabelSelectorRequirement(Part, frozen=True, kw_only=True):
    """One expression of a label selector, as written: key, operator, values."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Part, frozen=True, kw_only=True):
    """A label selector as written in an object; `bayplan.model.selectors` compiles it."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ObjectReference(Part, frozen=True, kw_only=True):
    """A pointer to another object."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class Condition(Part, frozen=True, kw_only=True):
    """One condition of a status, of a pod, a node or a custom resource."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None


def condition_of(conditions: tuple[Condition, ...], type: str) -> Condition | None:
    """The condition of that type, if any."""
    for condition in conditions:
        if condition.type == type:
            return condition
    return None
