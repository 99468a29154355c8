"""The real scheduler of the scheduler-plugins beside Bayplan: found, built, started, and scenarios played by both.

`python -m tests.e2e.family_harness` builds it, once, from the module under family/, into BAYPLAN_FAMILY or
bayplan/family/<version> in the user's cache. Tests only look: building takes minutes.

Scenarios are data (`scenarios/*.yaml`): a cluster, and steps of changes with what must then be the case.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.api import Api, ApiError, Object, eventually
from tests.e2e.binaries import MissingProgramError, _alone, _go, _say
from tests.e2e.control_plane import ControlPlane, free_port
from tests.e2e.objects import node, pod
from tests.e2e.processes import Process

from bayplan.controllers.crds import definitions

MODULE = Path(__file__).parent / "family"
SCENARIOS = Path(__file__).parent / "scenarios"
PACKAGE = "sigs.k8s.io/scheduler-plugins"
PROGRAM = "scheduler-plugins"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
API_VERSION = "scheduling.x-k8s.io/v1alpha1"
USER = "system:kube-scheduler"
#: What must become the case may take as long; what must stay so is watched for a shorter time.
REACH_SECONDS = 45.0
HOLD_SECONDS = 2.0


# --- the program ----------------------------------------------------------------------------------


def version() -> str:
    """The release that family/go.mod requires."""
    found = re.search(
        rf"^(?:require )?\s*{re.escape(PACKAGE)} (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE
    )
    if found is None:
        raise ValueError(f"family/go.mod does not require {PACKAGE}")
    return found[1]


def program_path(env: Mapping[str, str] = os.environ) -> Path:
    """Where the built scheduler is, or would be."""
    if chosen := env.get("BAYPLAN_FAMILY"):
        return Path(chosen).expanduser().resolve() / PROGRAM
    base = Path(env.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return base / "bayplan" / "family" / version() / PROGRAM


def require_program() -> Path:
    path = program_path()
    if not os.access(path, os.X_OK):
        raise MissingProgramError(f"no {path}; 'python -m tests.e2e.family_harness' builds it")
    return path


def install() -> Path:
    """Build the scheduler, unless it is there."""
    path = program_path()
    if os.access(path, os.X_OK):
        return path
    go = shutil.which("go")
    if go is None:
        raise MissingProgramError(f"there is no {path}, nor Go to build it with: install Go and run this again")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent / ".lock"), tempfile.TemporaryDirectory(dir=path.parent) as building:
        arguments = ["build", "-v", "-o", f"{building}/{PROGRAM}", "-ldflags=-s -w", f"{PACKAGE}/cmd/scheduler"]
        _go(go, arguments, cwd=MODULE, what=PROGRAM)
        (Path(building) / PROGRAM).rename(path)
    return path


# --- the two schedulers ---------------------------------------------------------------------------


def prepare(plane: ControlPlane) -> None:
    """The custom resources, and the right to read them."""
    plane.api.create_many(definitions())
    for definition in definitions():
        name = definition["metadata"]["name"]
        eventually(lambda name=name: is_established(plane.api, name))  # type: ignore[misc]
    rbac = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["*"], "verbs": ["*"]}
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "family"}, "rules": [rule]}
    plane.api.create(role)
    plane.api.create(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "family"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "family"},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": USER}],
        }
    )


def is_established(api: Api, name: str) -> bool:
    """Whether the API server takes objects of a definition: it says so, and both discovery and lists have them."""
    definition = api.get("CustomResourceDefinition", name)
    # Null until somebody has looked at the definition.
    conditions = definition.get("status", {}).get("conditions") or ()
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        return False
    try:
        api.list(definition["spec"]["names"]["kind"])
    except (ApiError, KeyError):
        return False
    return True


def start_original(plane: ControlPlane, configuration: Object) -> Process:
    """Start the scheduler of the scheduler-plugins."""
    port, kubeconfig = free_port(), plane.kubeconfig_for(USER)
    file = plane.scheduler_configuration(configuration, name=PROGRAM)
    serving = plane.component_arguments(port, kubeconfig)
    process = plane.start(PROGRAM, [require_program(), *serving, f"--config={file}", "--v=3"])
    return plane.when_ready(process, port, "/readyz")


# --- scenarios ------------------------------------------------------------------------------------


def load_scenarios(name: str) -> dict[str, Object]:
    """The scenarios of one file, by name."""
    scenarios: dict[str, Object] = yaml.safe_load((SCENARIOS / f"{name}.yaml").read_text())
    return scenarios


def play(plane: ControlPlane, scenario: Object, start: Callable[[ControlPlane, Object], object]) -> list[Object]:
    """Play a scenario with the scheduler that *start* starts; how many pods of each group were bound, per step."""
    prepare(plane)
    plane.api.create_many([node(name, cpu=str(cpu)) for name, cpu in scenario["nodes"].items()])
    start(plane, scenario["configuration"])
    outcomes = []
    for step in scenario["steps"]:
        for change in step.get("changes", ()):
            apply_change(plane.api, change)
        hold_seconds = step.get("hold", HOLD_SECONDS)
        outcomes.append(settled(lambda: bound_per_group(plane.api), step["bound"], hold_seconds))
    return outcomes


def apply_change(api: Api, change: Object) -> None:
    """`{create: …}`, `{delete: Kind/name}` or `{patch: Kind/name, with: …}`."""
    if "pods" in change:
        api.create_many(list(_pods(change["pods"])))
    elif "create" in change:
        api.create(change["create"])
    elif "group" in change:
        spec = dict(change["group"])
        meta = {"name": spec.pop("name")}
        api.create({"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": meta, "spec": spec})
    elif "node" in change:
        api.create(node(change["node"], cpu=str(change["cpu"])))
    elif "delete" in change:
        kind, _, name = change["delete"].partition("/")
        api.delete(kind, name)
    else:
        kind, _, name = change["patch"].partition("/")
        api.patch(kind, name, change["with"])


def _pods(given: Object) -> Sequence[Object]:
    """`{group: g0, count: 4, cpu: 1}`: pods g0-0 … g0-3; without a group they are called plain-0 …"""
    group, first = given.get("group", ""), given.get("first", 0)
    labels = {GROUP_LABEL: group} if group else {}
    names = [f"{group or 'plain'}-{i}" for i in range(first, first + given["count"])]
    spec: dict[str, Any] = given.get("spec", {})
    return [pod(name, cpu=str(given.get("cpu", 1)), labels=labels, **spec) for name in names]


def bound_per_group(api: Api) -> Object:
    """Group → how many of its pods are on nodes; "-" stands for pods of none."""
    bound = (each for each in api.list("Pod") if each["spec"].get("nodeName"))
    return dict(Counter((each["metadata"].get("labels") or {}).get(GROUP_LABEL, "-") for each in bound))


def settled(look: Callable[[], Object], expected: Object, hold_seconds: float) -> Object:
    """What *look* finds once that is as expected and stays so; otherwise what it finds in the end."""
    deadline = time.monotonic() + REACH_SECONDS
    since: float | None = None
    while (now := time.monotonic()) < deadline:
        found = look()
        if found != expected:
            since = None
        elif since is None:
            since = now
        elif now - since >= hold_seconds:
            return found
        time.sleep(0.1)
    return look()


def main() -> None:
    try:
        _say(f"  {PROGRAM}  {install()}")
    except MissingProgramError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
