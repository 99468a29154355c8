"""Node, and Namespace, of which labels are all that placement needs."""

from typing import ClassVar

from msgspec import field

from bayplan.model.base import Part
from bayplan.model.memo import cached_property
from bayplan.model.meta import Condition, condition_of
from bayplan.model.objects import KubeObject, ObjectError
from bayplan.model.quantity_text import QuantityError
from bayplan.model.resources import Resources, allocatable_resources
from bayplan.model.taints import Taint
from bayplan.model.volumes import QuantityText


class NodeSpec(Part, frozen=True, kw_only=True):
    """How a node is meant to be used."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""


class ContainerImage(Part, frozen=True, kw_only=True):
    """An image that is on the node, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class AttachedVolume(Part, frozen=True, kw_only=True):
    """A volume attached to the node."""

    name: str = ""
    device_path: str = ""


class NodeStatus(Part, frozen=True, kw_only=True):
    """What a node has and how it is."""

    capacity: dict[str, QuantityText] = field(default_factory=dict)
    allocatable: dict[str, QuantityText] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    phase: str = ""


class Node(KubeObject, frozen=True, kw_only=True):
    """A node."""

    KIND: ClassVar[str] = "Node"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "nodes"
    NAMESPACED: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def taints(self) -> tuple[Taint, ...]:
        """spec.taints"""
        return self.spec.taints

    @cached_property
    def allocatable(self) -> Resources:
        """What pods may request, of the resources the scheduler counts; cpu in thousandths, `pods` included."""
        try:
            return allocatable_resources(self.status.allocatable)
        except QuantityError as error:
            raise ObjectError(self.KIND, self.key, "status.allocatable", str(error)) from None

    def condition(self, type: str) -> Condition | None:
        """The condition of that type, if any."""
        return condition_of(self.status.conditions, type)


class NamespaceStatus(Part, frozen=True, kw_only=True):
    """Active or Terminating."""

    phase: str = ""


class Namespace(KubeObject, frozen=True, kw_only=True):
    """A namespace."""

    KIND: ClassVar[str] = "Namespace"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "namespaces"
    NAMESPACED: ClassVar[bool] = False

    status: NamespaceStatus = NamespaceStatus()
