"""Host ports: defaults, wildcard addresses, and which containers count."""

from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import HostPort, Pod, conflict, host_port

ports = st.builds(
    host_port,
    st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]),  # noqa: S104
    st.sampled_from(["", "TCP", "UDP"]),
    st.sampled_from([80, 443]),
)


@given(ports, ports)
def test_conflicts_are_mutual(first: HostPort, second: HostPort) -> None:
    """If one port excludes another, the other excludes the one."""
    assert first.conflicts_with(second) == second.conflicts_with(first)


@given(ports)
def test_port_conflicts_with_itself(port: HostPort) -> None:
    """No port is given twice."""
    assert conflict([port], [port])


@given(ports, ports)
def test_conflict_needs_port_protocol_and_address(first: HostPort, second: HostPort) -> None:
    """Same port and protocol, and addresses that are the same or of which one means all."""
    addresses = first.ip == second.ip or "0.0.0.0" in (first.ip, second.ip)  # noqa: S104
    expected = first.port == second.port and first.protocol == second.protocol and addresses

    assert first.conflicts_with(second) == expected


def test_empty_fields_have_defaults() -> None:
    """No address means all of them, no protocol means TCP."""
    assert host_port("", "", 80) == HostPort("0.0.0.0", "TCP", 80)  # noqa: S104


def test_containers_and_sidecars_count() -> None:
    """Init containers that end give their ports back; sidecars come first."""
    pod = Pod.from_dict(
        {
            "spec": {
                "containers": [{"ports": [{"hostPort": 80}, {"containerPort": 81}, {"hostPort": -1}]}],
                "initContainers": [
                    {"ports": [{"hostPort": 90}]},
                    {"restartPolicy": "Always", "ports": [{"hostPort": 91, "hostIP": "10.0.0.1"}]},
                ],
            }
        }
    )

    assert pod.host_ports == (HostPort("10.0.0.1", "TCP", 91), HostPort("0.0.0.0", "TCP", 80))  # noqa: S104
