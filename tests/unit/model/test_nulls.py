"""JSON null where an object has a field, an element or a value."""

from bayplan.model import Container, Node, Pod, Service


def test_null_reads_as_zero() -> None:
    """null leaves the zero value in fields, lists and maps, as Go's decoder does."""
    pod = Pod.from_json(
        b'{"metadata": {"name": "p", "labels": {"a": null}, "annotations": null, "creationTimestamp": null},'
        b' "spec": {"nodeName": null, "containers": [null, {"name": null, "ports": null,'
        b' "resources": {"requests": {"cpu": null, "memory": "1"}}}], "affinity": null, "volumes": [],'
        b' "tolerations": [{"key": null, "operator": "Exists"}], "hostNetwork": null}, "status": null}'
    )

    assert pod.labels == {"a": ""}
    assert pod.annotations == {}
    assert pod.spec.containers[0] == Container()
    assert pod.spec.tolerations[0].operator == "Exists"
    assert pod.requests == {"cpu": 0, "memory": 1}
    assert pod.raw["status"] is None


def test_null_reads_as_zero_in_nested_lists() -> None:
    """Also where the elements are strings or numbers of a list within a list."""
    node = Node.from_json(b'{"status": {"images": [{"names": [null, "a"], "sizeBytes": null}, null]}}')

    assert [image.names for image in node.status.images] == [("", "a"), ()]


def test_null_reads_as_zero_in_mappings() -> None:
    """The same for objects that come decoded."""
    service = Service.from_dict({"metadata": {"name": "s"}, "spec": {"selector": None, "clusterIP": None}})

    assert service.spec.selector == {}
