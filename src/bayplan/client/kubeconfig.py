"""The API server's address and our credentials, from a kubeconfig file or the service account of our pod.

In: paths and names. Out: `ClusterAccess`, plain data; nothing is connected, run or renewed here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bayplan.client.certificates import Certificate, Pem, Trust
from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig_file import Kubeconfig, read_kubeconfig

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command that prints an ExecCredential."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    cluster_config: object = None


@dataclass(frozen=True, slots=True)
class AuthInfo:
    """How we authenticate: with at most one of token, token file, password and plugin, besides a certificate."""

    certificate: Certificate | None = None
    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    exec: ExecPlugin | None = None
    #: Headers that make the server treat us as another user.
    impersonate: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Everything that is needed to connect."""

    server: str
    trust: Trust = field(default_factory=Trust)
    auth_info: AuthInfo = field(default_factory=AuthInfo)
    #: The namespace of the context; empty if it names none.
    namespace: str = ""


def load_access(
    kubeconfig: str = "",
    *,
    master: str = "",
    context: str = "",
    environ: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterAccess:
    """The access according to the flags; *master* overrides the server's address.

    Without *kubeconfig*: the service account inside a pod, otherwise `$KUBECONFIG`, otherwise ~/.kube/config; if
    there is none of them, *master* without credentials. Raises AccessError.
    """
    env = os.environ if environ is None else environ
    if kubeconfig:
        access = _from_files([kubeconfig], context)
    elif not context and not master and _is_in_cluster(env, service_account):
        access = _from_service_account(env, service_account)
    elif found := _default_files(env):
        access = _from_files(found, context)
    elif master:
        access = ClusterAccess(_checked_server(master, "--master"))
    else:
        raise AccessError(
            "no cluster to talk to: give --kubeconfig or --master, set KUBECONFIG, or run inside a pod "
            "(there is no ~/.kube/config, and KUBERNETES_SERVICE_HOST is not set)"
        )
    return replace(access, server=_checked_server(master, "--master")) if master else access


def _is_in_cluster(environ: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> bool:
    """Whether we run in a pod with a service account."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (service_account / "token").exists()


def _from_service_account(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> ClusterAccess:
    """The access of the pod we run in; the kubelet rotates the token file."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT") or "443"
    ca = folder / "ca.crt"
    return ClusterAccess(
        f"https://{f'[{host}]' if ':' in host else host}:{port}",
        Trust(ca=Pem(file=str(ca))) if ca.exists() else Trust(),
        AuthInfo(token_file=str(folder / "token")),
    )


def _default_files(env: Mapping[str, str]) -> list[str]:
    if listed := env.get("KUBECONFIG"):
        return [path for path in listed.split(os.pathsep) if path and Path(path).exists()]
    default = Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"
    return [str(default)] if default.exists() else []


def _from_files(paths: list[str], context_name: str) -> ClusterAccess:
    """Merges several files as kubectl does: the first file that has a name wins."""
    files = [read_kubeconfig(path) for path in paths]
    name = context_name or next((file.current_context for file in files if file.current_context), "")
    if not name:
        raise AccessError(f"{', '.join(paths)}: there is no current-context; set one, or name a context")
    file, context = _find(files, "contexts", name)
    cluster_name = file.text(context, "cluster", f"context {name!r}", required=True)
    user_name = file.text(context, "user", f"context {name!r}")
    cluster_file, cluster = _find(files, "clusters", cluster_name, f"context {name!r}")
    auth_info = AuthInfo()
    if user_name:
        user_file, user = _find(files, "users", user_name, f"context {name!r}")
        auth_info = _auth_info(user_file, user, user_name, cluster)
    where = f"cluster {cluster_name!r}"
    if cluster_file.text(cluster, "proxy-url", where):
        raise cluster_file.error(f"{where}: proxy-url is not supported; reach the API server directly")
    server = cluster_file.text(cluster, "server", where, required=True)
    return ClusterAccess(
        _checked_server(server, f"{cluster_file.path}: {where}"),
        _trust(cluster_file, cluster, where),
        auth_info,
        file.text(context, "namespace", f"context {name!r}"),
    )


def _find(
    files: list[Kubeconfig], section: str, name: str, referrer: str = ""
) -> tuple[Kubeconfig, Mapping[str, object]]:
    for file in files:
        if (entry := file.entry(section, name)) is not None:
            return file, entry
    known = sorted({each for file in files for each in file.names(section)})
    available = f"there are: {', '.join(known)}" if known else "there are none"
    problem = (
        f"{referrer} refers to the {section[:-1]} {name!r}, which does not exist"
        if referrer
        else f"there is no {section[:-1]} {name!r}"
    )
    raise AccessError(f"{', '.join(str(file.path) for file in files)}: {problem}; {available}")


def _trust(file: Kubeconfig, cluster: Mapping[str, object], where: str) -> Trust:
    ca = file.pem(cluster, "certificate-authority", where)
    insecure = bool(cluster.get("insecure-skip-tls-verify"))
    if insecure and ca:
        raise file.error(f"{where}: insecure-skip-tls-verify and a certificate-authority exclude each other")
    return Trust(ca, insecure, file.text(cluster, "tls-server-name", where))


def _auth_info(file: Kubeconfig, user: Mapping[str, object], name: str, cluster: Mapping[str, object]) -> AuthInfo:
    where = f"user {name!r}"
    if user.get("auth-provider"):
        raise file.error(f"{where}: auth-provider was removed from Kubernetes 1.26; use an exec plugin")
    certificate = file.pem(user, "client-certificate", where)
    key = file.pem(user, "client-key", where)
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise file.error(f"{where}: {missing} (or {missing}-data) is missing")
    token_file = file.text(user, "tokenFile", where)
    return AuthInfo(
        Certificate(certificate, key) if certificate else None,
        token="" if token_file else file.text(user, "token", where),
        token_file=file.resolve(token_file),
        username=file.text(user, "username", where),
        password=file.text(user, "password", where),
        exec=_exec_plugin(file, user, where, cluster),
        impersonate=file.impersonation(user, where),
    )


def _exec_plugin(
    file: Kubeconfig, user: Mapping[str, object], where: str, cluster: Mapping[str, object]
) -> ExecPlugin | None:
    plugin = user.get("exec")
    if plugin is None:
        return None
    if not isinstance(plugin, Mapping):
        raise file.error(f"{where}: exec is not a mapping")
    where = f"{where}: exec"
    version = file.text(plugin, "apiVersion", where, required=True)
    if version not in ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"):
        raise file.error(f"{where}: apiVersion {version!r} is not known; v1 and v1beta1 are")
    if plugin.get("interactiveMode") == "Always":
        raise file.error(f"{where}: interactiveMode Always: a scheduler has no terminal")
    command = file.text(plugin, "command", where, required=True)
    return ExecPlugin(
        # A bare name is looked up in the PATH, as by kubectl.
        file.resolve(command) if os.sep in command else command,
        version,
        file.texts(plugin, "args", where),
        file.pairs(plugin, "env", where),
        file.text(plugin, "installHint", where),
        bool(plugin.get("provideClusterInfo")),
        cluster,
    )


def _checked_server(server: str, where: str) -> str:
    server = server if "://" in server else f"http://{server}"
    if not server.startswith(("https://", "http://")):
        raise AccessError(f"{where}: the server {server!r} is not an http or https address")
    return server.rstrip("/")
