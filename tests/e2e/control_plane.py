"""A real control plane on loopback: etcd, kube-apiserver, and whichever other components a test starts.

    with ControlPlane(folder) as plane:
        plane.api.create(node("a"))
        plane.start_scheduler()
        print(plane.kubectl("get", "pods", "--all-namespaces"))

What differs from a cluster: nodes are objects without kubelets, so bound pods never run, and the API server admits
what a test creates without the controllers that would prepare it (see `ADMISSION_OFF`).
"""

from __future__ import annotations

import copy
import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import yaml
from tests.e2e.api import Api, Object
from tests.e2e.binaries import require
from tests.e2e.certificates import Authority, make_key
from tests.e2e.processes import Process, ProcessGroup

#: Admission that waits for controllers: pods would need their namespace's service account, and a new node would
#: keep the not-ready taint that the node lifecycle controller takes away once a kubelet reports.
ADMISSION_OFF = ("ServiceAccount", "TaintNodesByCondition")
#: Without kubelets no node sends heartbeats, and after 40 seconds this controller would taint every one.
CONTROLLERS = "*,-node-lifecycle-controller"
ADMIN_TOKEN = "admin-token"  # noqa: S105  lives as long as one test, on loopback
READY_SECONDS = 90  # a second or two on a quiet machine; CI machines are not quiet
# Below what systems hand out for outgoing connections (from 32768): a port that is free while the API server
# restarts must not become somebody's source port, or that of a client that then connects to itself.
_PORTS = range(20_000, 30_000)
_handed_out: set[int] = set()
_MEMORY = Path("/dev/shm")  # noqa: S108
_MEMORY_NEEDED = 1 << 30  # etcd writes segments of 64 MB, and containers often have no more here


class ControlPlane:
    """etcd and kube-apiserver, with a client (`api`) and a kubeconfig file for an administrator."""

    def __init__(
        self,
        folder: Path,
        *,
        admission_off: Sequence[str] = ADMISSION_OFF,
        api_server_arguments: Sequence[str] = (),
        programs: Mapping[str, Path] | None = None,
    ) -> None:
        """Logs, certificates and kubeconfig files go into `folder` and stay; etcd's data is gone at the end."""
        self.folder = folder
        self.programs = programs or require()
        self._admission_off = admission_off
        self._api_server_arguments = api_server_arguments
        self.data = Path(tempfile.mkdtemp(prefix="bayplan-etcd-", dir=_data_parent()))
        self._group = ProcessGroup(folder, scratch=[self.data])
        self.etcd_port, self._etcd_peer_port, self.port = free_port(), free_port(), free_port()
        self._make_certificates()
        self.kubeconfig = self._write_kubeconfig("admin", {"token": ADMIN_TOKEN})
        self.api = self.client(self.port)
        self.etcd: Process
        self.api_server: Process

    def __enter__(self) -> ControlPlane:
        try:
            self.start_etcd()
            self.start_api_server()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process and drop the data."""
        self.api.close()
        self._group.end()

    # The two that are always there.

    def start_etcd(self) -> Process:
        """Start etcd; it is as fast and as forgetful as a test may want it."""
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self._etcd_peer_port}"
        self.etcd = self.start(
            "etcd",
            [
                self.programs["etcd"],
                f"--data-dir={self.data}/etcd",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
        )
        self.etcd.wait_until(lambda: accepts(self.etcd_port), timeout=READY_SECONDS)
        return self.etcd

    def start_api_server(self) -> Process:
        """Start kube-apiserver and wait until it is ready; after a stop it comes back at the same address."""
        arguments = [
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",  # it refuses loopback addresses
            f"--secure-port={self.port}",
            *self._serving_arguments(),
            f"--client-ca-file={self.authority.pair.certificate}",
            f"--token-auth-file={self._tokens}",
            "--authorization-mode=Node,RBAC",
            f"--disable-admission-plugins={','.join(self._admission_off)}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._service_account_key}",
            f"--service-account-signing-key-file={self._service_account_key}",
            f"--requestheader-client-ca-file={self._front_proxy.pair.certificate}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--allow-privileged=true",
            # Else a stop waits, up to a minute, for watches that nobody ends.
            "--shutdown-watch-termination-grace-period=2s",
            *self._api_server_arguments,
        ]
        self.api_server = self.start("kube-apiserver", [self.programs["kube-apiserver"], *arguments])
        self.api_server.wait_until(self.api.ready, timeout=READY_SECONDS)
        return self.api_server

    def restart_api_server(self, *, crash: bool = False) -> Process:
        """Stop the API server, or kill it, and start it again on the same objects."""
        if crash:
            self.api_server.kill()
        else:
            self.api_server.stop()
        return self.start_api_server()

    # What a test may add.

    def start_controller_manager(
        self, *, controllers: str = CONTROLLERS, arguments: Sequence[str] = ()
    ) -> Process:
        """Start kube-controller-manager: deployments get pods, namespaces get service accounts."""
        port = free_port()
        process = self.start(
            "kube-controller-manager",
            [
                self.programs["kube-controller-manager"],
                *self.component_arguments(port, self.kubeconfig),
                f"--kubeconfig={self.kubeconfig}",
                f"--root-ca-file={self.authority.pair.certificate}",
                f"--service-account-private-key-file={self._service_account_key}",
                f"--controllers={controllers}",
                "--leader-elect=false",
                "--kube-api-qps=1000",
                "--kube-api-burst=1000",
                *arguments,
            ],
        )
        return self.when_ready(process, port, "/healthz")

    def start_scheduler(
        self,
        configuration: Object | None = None,
        *,
        name: str = "kube-scheduler",
        verbosity: int = 3,
        arguments: Sequence[str] = (),
    ) -> Process:
        """Start a stock kube-scheduler; what its configuration leaves out is as in `scheduler_configuration`."""
        port, kubeconfig = free_port(), self.kubeconfig_for("system:kube-scheduler")
        file = self.scheduler_configuration(configuration, name=name)
        process = self.start(
            name,
            [
                self.programs["kube-scheduler"],
                *self.component_arguments(port, kubeconfig),
                f"--config={file}",
                f"--v={verbosity}",
                *arguments,
            ],
        )
        return self.when_ready(process, port, "/readyz")

    def scheduler_configuration(self, configuration: Object | None = None, *, name: str) -> Path:
        """A file with the configuration, ready for this control plane.

        Where it says nothing of them: the scheduler's own kubeconfig, no limit on requests that a test would
        notice, and no leader election.
        """
        complete: Object = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            **copy.deepcopy(configuration or {}),
        }
        connection = {"kubeconfig": str(self.kubeconfig_for("system:kube-scheduler")), "qps": 5000, "burst": 5000}
        complete["clientConnection"] = {**connection, **complete.get("clientConnection", {})}
        complete.setdefault("leaderElection", {"leaderElect": False})
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(complete, sort_keys=False))
        return file

    def start(
        self, name: str, arguments: Sequence[str | Path], *, env: Mapping[str, str] | None = None
    ) -> Process:
        """Start any program; it ends with the control plane, and its log is shown when the test fails."""
        return self._group.start(name, arguments, env=env)

    def end_components(self) -> None:
        """End everything but etcd and the API server, and drop the logs: as if it had never been started."""
        self._group.end_others(self.etcd, self.api_server)

    def logs(self) -> list[Path]:
        """Every log so far, in the order in which the programs first started."""
        return self._group.logs()

    # Ways in.

    def client(self, port: int) -> Api:
        """A client as administrator, for the API server or for another component's `port`; close it after use."""
        return Api(port, authority=self.authority.pair.certificate, token=ADMIN_TOKEN)

    def kubeconfig_for(self, user: str, *, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig file for any user, who shows a client certificate; what the user may do is up to RBAC."""
        file_name = user.replace(":", "-")
        path = self.folder / f"{file_name}.kubeconfig"
        if not path.exists():
            pair = self.authority.client(file_name, user=user, groups=groups)
            self._write_kubeconfig(
                file_name, {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
            )
        return path

    def kubeconfig_for_token(self, name: str, token: str) -> Path:
        """A kubeconfig file for whoever the token is of."""
        return self._write_kubeconfig(name, {"token": token})

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints; an error if it ends with one."""
        env = {"KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.folder / "kubectl"), "KUBERC": "off"}
        done = subprocess.run(  # noqa: S603
            [self.programs["kubectl"], *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, **env},
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def component_arguments(self, port: int, kubeconfig: Path) -> list[str]:
        """Flags of a component that serves HTTPS and asks the API server who may read what."""
        return [
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            *self._serving_arguments(),
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
        ]

    def when_ready(self, process: Process, port: int, path: str) -> Process:
        """Wait until the component says on its own port that it is ready."""
        process.port = port
        probe = self.client(port)
        try:
            process.wait_until(lambda: probe.ready(path), timeout=READY_SECONDS)
        finally:
            probe.close()
        return process

    # Inside.

    def _make_certificates(self) -> None:
        self.authority = Authority(self.folder, "kubernetes-ca")
        self._front_proxy = Authority(self.folder, "front-proxy-ca")
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        self._serving = self.authority.server("serving", names=names, addresses=["127.0.0.1", "10.0.0.1"])
        self._service_account_key = self.folder / "service-account.key"
        make_key(self._service_account_key)
        self._tokens = self.folder / "tokens.csv"
        self._tokens.write_text(f"{ADMIN_TOKEN},admin,admin,system:masters\n")

    def _serving_arguments(self) -> list[str]:
        return [f"--tls-cert-file={self._serving.certificate}", f"--tls-private-key-file={self._serving.key}"]

    def _write_kubeconfig(self, name: str, user: Mapping[str, str]) -> Path:
        cluster = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority": str(self.authority.pair.certificate),
        }
        path = self.folder / f"{name}.kubeconfig"
        text = yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "clusters": [{"name": "test", "cluster": cluster}],
                "users": [{"name": name, "user": dict(user)}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            }
        )
        path.write_text(text)
        return path


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that was not given to another program of this test run: one
    that is still starting does not listen yet."""
    while True:
        port = random.choice(_PORTS)  # noqa: S311
        if port in _handed_out:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _handed_out.add(port)
        return port


def accepts(port: int) -> bool:
    """Whether somebody listens on this port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _data_parent() -> Path | None:
    """Memory, where there is enough of it; else the usual folder for temporary files."""
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _MEMORY_NEEDED:
        return _MEMORY
    return None
