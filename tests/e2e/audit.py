"""The API server's own book of who asked to bind which pod, when, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create]
  resources: [{group: "", resources: [pods/binding]}]
- level: None
"""


@dataclass(frozen=True)
class Bind:
    """A request to bind a pod, and the answer."""

    pod: str
    node: str
    user: str
    status: int
    #: When it came in, in seconds since the epoch.
    at: float

    @property
    def is_success(self) -> bool:
        return self.status == 201

    @property
    def is_refusal(self) -> bool:
        return 400 <= self.status < 500


class BindingAudit:
    """Give `arguments` to the API server; `binds` reads what it has written so far."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "audit.jsonl"
        self._policy = folder / "audit-policy.yaml"
        self._policy.write_text(_POLICY)
        self._read = 0
        self._binds: list[Bind] = []

    @property
    def arguments(self) -> Sequence[str]:
        return [
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-mode=blocking",
        ]

    def binds(self) -> Sequence[Bind]:
        """Every request to bind a pod that was answered, in the order of the answers."""
        if self._log.exists():
            with self._log.open("rb") as log:
                log.seek(self._read)
                complete, newline, _ = log.read().rpartition(b"\n")
            self._read += len(complete) + len(newline)
            self._binds += [_bind(json.loads(line)) for line in complete.splitlines()]
        return self._binds

    def successes(self) -> Sequence[Bind]:
        return [each for each in self.binds() if each.is_success]


def _bind(entry: dict[str, object]) -> Bind:
    reference, request = entry["objectRef"], entry.get("requestObject") or {}
    assert isinstance(reference, dict)
    assert isinstance(request, dict)
    user, status = entry["user"], entry.get("responseStatus") or {}
    assert isinstance(user, dict)
    assert isinstance(status, dict)
    received = datetime.fromisoformat(str(entry["requestReceivedTimestamp"]))
    return Bind(
        f"{reference['namespace']}/{reference['name']}",
        request.get("target", {}).get("name", ""),
        user["username"],
        int(status.get("code", 0)),
        received.timestamp(),
    )
