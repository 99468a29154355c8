"""The API server's own book of what service accounts asked for, and what they were refused."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
"""


class Asked(NamedTuple):
    """A verb on a resource, as a rule of RBAC names them."""

    group: str
    resource: str
    verb: str


class RequestAudit:
    """Give `arguments` to the API server; the rest reads what it has written so far."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "requests.jsonl"
        self._policy = folder / "request-audit-policy.yaml"
        self._policy.write_text(_POLICY)
        self._read = 0
        self._asked: defaultdict[str, set[Asked]] = defaultdict(set)
        self._refused: defaultdict[str, set[Asked]] = defaultdict(set)

    @property
    def arguments(self) -> Sequence[str]:
        return [
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-mode=blocking",
        ]

    def asked(self, user: str) -> set[Asked]:
        """Everything that *user* wanted to do, refused or not."""
        self._read_on()
        return self._asked[user]

    def refused(self, user: str) -> set[Asked]:
        """What the authorizer did not let *user* do."""
        self._read_on()
        return self._refused[user]

    def _read_on(self) -> None:
        if not self._log.exists():
            return
        with self._log.open("rb") as log:
            log.seek(self._read)
            complete, newline, _ = log.read().rpartition(b"\n")
        self._read += len(complete) + len(newline)
        for line in complete.splitlines():
            entry = json.loads(line)
            if (about := entry.get("objectRef")) is not None:
                resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
                asked = Asked(about.get("apiGroup", ""), resource, entry["verb"])
                self._asked[entry["user"]["username"]].add(asked)
                if entry["annotations"].get("authorization.k8s.io/decision") == "forbid":
                    self._refused[entry["user"]["username"]].add(asked)
