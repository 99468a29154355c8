"""Bayplan as its printed manifests would run it: their ServiceAccount, rights, configuration and arguments.

There are no kubelets here, so the container is a process: its files are those of the ConfigMap, its account shows
a token that the API server made for it, and it may write nowhere but to its folder for temporary files.
"""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Callable, Sequence

import yaml
from click.testing import CliRunner
from tests.e2e.api import ApiError, Object, eventually
from tests.e2e.bayplan import PROGRAM
from tests.e2e.certificates import Pair
from tests.e2e.control_plane import READY_SECONDS, ControlPlane, free_port
from tests.e2e.processes import Process

from bayplan.cli import main
from bayplan.deployment.permissions import AUTHENTICATION_READER

NAMESPACE = "kube-system"
FOLDER = "/etc/bayplan"
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
#: What every cluster's role for readers of the authentication's configuration allows.
_LOOK_UP: Object = {
    "apiGroups": [""],
    "resources": ["configmaps"],
    "verbs": ["get"],
    "resourceNames": ["extension-apiserver-authentication"],
}
#: A read-only root file system, as far as a process that is not in a container can be given one.
_READ_ONLY = """
import errno, os, sys

FOLDER = os.path.realpath(os.environ["TMPDIR"])
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def refuse(event, arguments):
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
    if not (writes or event in ("os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link")):
        return
    if isinstance(arguments[0], int):
        return
    path = os.path.realpath(os.fsdecode(arguments[0]))
    if not path.startswith((FOLDER, "/dev/")):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)


sys.addaudithook(refuse)
"""


def printed(*arguments: str) -> list[Object]:
    """The objects that `bayplan manifests` prints."""
    result = CliRunner().invoke(main, ["manifests", *arguments])
    assert result.exit_code == 0, result.output
    assert not result.stderr
    return list(yaml.safe_load_all(result.stdout))


def of_kind(objects: Sequence[Object], kind: str) -> Object:
    """The first of a kind."""
    return next(each for each in objects if each["kind"] == kind)


class Deployed:
    """The deployment of *objects* on a control plane."""

    def __init__(self, plane: ControlPlane, objects: Sequence[Object]) -> None:
        self.plane = plane
        self.objects = objects
        self.name: str = of_kind(objects, "Deployment")["metadata"]["name"]
        self.user = f"system:serviceaccount:{NAMESPACE}:{self.name}"
        self.folder = plane.folder / self.name
        self.port = free_port()
        self.process: Process

    def start(self, *, verbosity: int = 2) -> None:
        """Give the rights, and start; whether it is ever ready is for the test to see."""
        self._apply_rights()
        self._write_files()
        container = of_kind(self.objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
        arguments = [each.replace(FOLDER, str(self.folder)) for each in container["args"]]
        here = ["--bind-address=127.0.0.1", f"--secure-port={self.port}", f"--v={verbosity}"]
        env = {
            "KUBECONFIG": str(self.plane.kubeconfig_for_token(self.name, self.token())),
            "HOME": "/nonexistent",
            "TMPDIR": str(self.folder / "tmp"),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(self.folder), os.environ.get("PYTHONPATH")))),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.process = self.plane.start(self.name, [PROGRAM, *arguments, *here], env=env)

    def wait_ready(self) -> None:
        self.process.wait_until(self.is_ready, timeout=READY_SECONDS)

    def is_ready(self) -> bool:
        return self.status("/readyz") == 200

    def status(self, path: str, *, token: str = "", client: Pair | None = None) -> int:
        """What a GET on its port is answered; 0 if nobody listens. Nobody in particular asks, as a probe does."""
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        if client is not None:
            trusting.load_cert_chain(client.certificate, client.key)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=trusting, timeout=10)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def token(self) -> str:
        return token_of(self.plane, self.name)

    # ----------------------------------------------------------------------------------------------

    def _apply_rights(self) -> None:
        for each in self.objects:
            if each["kind"] in RIGHTS:
                self.plane.api.create(each)
        for kind in ("ClusterRole", "Role"):
            for role in (each for each in self.objects if each["kind"] == kind and each["rules"]):
                self._wait_until_known(role["rules"][0], role["metadata"].get("namespace", ""))
        if any(each.get("roleRef", {}).get("name") == AUTHENTICATION_READER for each in self.objects):
            self._wait_until_known(_LOOK_UP, NAMESPACE)

    def _wait_until_known(self, rule: Object, namespace: str) -> None:
        """Wait until the authorizer has heard of a rule: it follows the objects at a little distance."""
        resource, _, subresource = rule["resources"][0].partition("/")
        attributes = {
            "verb": rule["verbs"][0],
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "name": rule.get("resourceNames", [""])[0],
            "namespace": namespace,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": self.user, "resourceAttributes": attributes},
        }
        eventually(lambda: self.plane.api.create(review)["status"]["allowed"])

    def _write_files(self) -> None:
        (self.folder / "tmp").mkdir(parents=True)
        (self.folder / "sitecustomize.py").write_text(_READ_ONLY)
        for name, text in of_kind(self.objects, "ConfigMap")["data"].items():
            (self.folder / name).write_text(text)


def token_of(plane: ControlPlane, account: str) -> str:
    """A token of a service account."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token: str = plane.api.request("POST", path, request)["status"]["token"]
    return token


def found(read: Callable[[], Object]) -> Object | None:
    """The object, if there is one."""
    try:
        return read()
    except ApiError as error:
        if error.status != 404:
            raise
        return None
