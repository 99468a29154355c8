"""Host ports: the ports that a pod uses on its node, and which of them conflict."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from bayplan.model.pod_fields import PodSpec

#: The address that means all addresses of the node.
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104
DEFAULT_PROTOCOL: Final = "TCP"


class HostPort(NamedTuple):
    """A port on an address of a node."""

    ip: str
    protocol: str
    port: int

    def conflicts_with(self, other: "HostPort") -> bool:
        """Whether they exclude each other: same protocol and port, and the same address or one that means all."""
        if self.port != other.port or self.protocol != other.protocol:
            return False
        return self.ip == other.ip or ANY_ADDRESS in (self.ip, other.ip)


def host_port(ip: str, protocol: str, port: int) -> HostPort:
    """A host port with Kubernetes' defaults: all addresses, TCP."""
    return HostPort(ip or ANY_ADDRESS, protocol or DEFAULT_PROTOCOL, port)


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The host ports a pod uses while it runs: those of its sidecars, then those of its containers."""
    sidecars = [container for container in spec.init_containers if container.is_sidecar]
    ports = [port for container in (*sidecars, *spec.containers) for port in container.ports]
    return tuple([host_port(each.host_ip, each.protocol, each.host_port) for each in ports if each.host_port > 0])


def conflict(wanted: Iterable[HostPort], used: Iterable[HostPort]) -> bool:
    """Whether a wanted port conflicts with a used one."""
    used = tuple(used)
    return any(port.conflicts_with(other) for port in wanted for other in used)
