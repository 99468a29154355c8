"""Node, and Namespace, of which scheduling reads only the labels."""

from typing import ClassVar

from bayplan.model.kube_object import ApiStruct, Condition, KubeObject, ObjectError, cached_property, condition_of
from bayplan.model.quantity import QuantityError
from bayplan.model.read_only import EMPTY, freeze
from bayplan.model.resource_requests import Resources, allocatable_resources
from bayplan.model.taints import Taint
from bayplan.model.volume_sources import QuantityText


class NodeSpec(ApiStruct, frozen=True, kw_only=True):
    """The specification of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""


class ContainerImage(ApiStruct, frozen=True, kw_only=True):
    """An image that is on the node, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class AttachedVolume(ApiStruct, frozen=True, kw_only=True):
    """A volume attached to the node."""

    name: str = ""
    device_path: str = ""


class NodeStatus(ApiStruct, frozen=True, kw_only=True):
    """The status of a node."""

    capacity: dict[str, QuantityText] = EMPTY
    allocatable: dict[str, QuantityText] = EMPTY
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    phase: str = ""

    def __post_init__(self) -> None:
        freeze(self, "capacity", "allocatable")


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


class NamespaceStatus(ApiStruct, frozen=True, kw_only=True):
    """Active or Terminating."""

    phase: str = ""


class Namespace(KubeObject, frozen=True, kw_only=True):
    """A namespace."""

    KIND: ClassVar[str] = "Namespace"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "namespaces"
    NAMESPACED: ClassVar[bool] = False

    status: NamespaceStatus = NamespaceStatus()
