"""The `extenders:` stanza for the configuration of a scheduler that calls a served extender."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import yaml

from bayplan.extender.app import BIND, FILTER, PREEMPT, PRIORITIZE

_FIELDS: Final = {FILTER: "filterVerb", PRIORITIZE: "prioritizeVerb", PREEMPT: "preemptVerb", BIND: "bindVerb"}


@dataclass(frozen=True, slots=True)
class ExtenderAddress:
    """How a scheduler reaches the extender."""

    url: str
    #: A name on the extender's certificate, if the one in the URL is not; otherwise empty.
    server_name: str = ""
    #: PEM of the authority of the extender's certificate; empty without TLS, or if the system trusts it.
    authority: bytes = b""
    #: Whether the scheduler needs a client certificate.
    wants_certificate: bool = False
    #: Whether the extender has the nodes itself.
    has_nodes: bool = False


def stanza(reached: ExtenderAddress, verbs: Sequence[str], *, weight: int = 1) -> str:
    """YAML to paste into a KubeSchedulerConfiguration."""
    extender: dict[str, object] = {"urlPrefix": reached.url}
    extender |= {field: verb for verb, field in _FIELDS.items() if verb in verbs}
    if PRIORITIZE in verbs:
        extender["weight"] = weight
    extender["nodeCacheCapable"] = reached.has_nodes
    extender["ignorable"] = False
    extender["httpTimeout"] = "5s"
    tls: dict[str, object] = {}
    if reached.authority:
        tls["caData"] = base64.b64encode(reached.authority).decode()
    if reached.wants_certificate:
        tls |= {"certFile": "/path/to/client.crt", "keyFile": "/path/to/client.key"}
    if reached.url.startswith("https"):
        # Without an authority, the certificate would not be verified.
        extender["enableHTTPS"] = bool(tls.get("caData"))
        if reached.server_name and reached.server_name != urlsplit(reached.url).hostname:
            tls["serverName"] = reached.server_name
    if tls:
        extender["tlsConfig"] = tls
    return yaml.safe_dump({"extenders": [extender]}, sort_keys=False, width=1_000_000)
