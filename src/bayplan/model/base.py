"""What all Kubernetes objects share: how fields are named in JSON, and the parts of an object as frozen values.

`Part` is a piece of an object (a spec, a container, a toleration): immutable, compared by value, a missing field
has Go's zero value. Fields are named as in Go's JSON: camel case, with the initialisms that Go keeps upper case.
"""

import msgspec

#: Fields whose JSON name is not plain camel case.
_INITIALISMS = {
    "cluster_ip": "clusterIP",
    "cluster_ips": "clusterIPs",
    "disk_uri": "diskURI",
    "downward_api": "downwardAPI",
    "host_ip": "hostIP",
    "image_id": "imageID",
    "host_ips": "hostIPs",
    "node_id": "nodeID",
    "pod_ip": "podIP",
    "provider_id": "providerID",
    "pod_ips": "podIPs",
    "volume_id": "volumeID",
}


def json_name(field: str) -> str:
    """The JSON name of a field: `node_name` is `nodeName`, `host_ip` is `hostIP`."""
    if field in _INITIALISMS:
        return _INITIALISMS[field]
    first, *rest = field.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


class Part(msgspec.Struct, frozen=True, kw_only=True, rename=json_name, omit_defaults=True, gc=False):
    """A piece of an object: immutable, unknown fields ignored, missing fields zero.

    Parts hold strings, numbers, tuples, dicts and parts only, so they never form cycles (`gc=False`).
    """


class Marker(Part, frozen=True, kw_only=True):
    """A part of which only the presence matters: `config_map is not None`."""
