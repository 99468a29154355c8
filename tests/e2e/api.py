"""A small client of the Kubernetes API for tests: objects are plain dictionaries, kinds are named as in YAML.

It is not the client that Bayplan schedules with, so a mistake there cannot hide itself here.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

Object = dict[str, Any]
T = TypeVar("T")
#: Seconds to wait for what takes a moment: so many that a busy machine is no reason to fail.
PATIENCE = 60.0

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ApiError(Exception):
    """The API server answered, and the answer is no."""

    def __init__(self, status: int, body: Object) -> None:
        super().__init__(f"{status} {body.get('reason', '')}: {body.get('message', '')}")
        self.status = status
        self.reason: str = body.get("reason", "")


@dataclass(frozen=True)
class _Resource:
    prefix: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None, subresource: str | None) -> str:
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{self.prefix}{scope}/{self.plural}{tail}"


class Api:
    """One API server as one user sees it. Safe to use from several threads.

    `kind` is a kind (`Pod`), or one with its API version where several have it (`events.k8s.io/v1/Event`). Objects
    of namespaced kinds are in `default` unless an argument or the object says otherwise.
    """

    def __init__(self, port: int, *, authority: Path, token: str, timeout: float = 30) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._timeout = timeout
        self._idle: list[http.client.HTTPSConnection] = []
        self._resources: dict[str, _Resource] = {}

    def create(self, body: Object, *, namespace: str | None = None) -> Object:
        """Create the object; its kind and namespace are its own."""
        kind = f"{body['apiVersion']}/{body['kind']}"
        namespace = namespace or body.get("metadata", {}).get("namespace") or "default"
        return self.request("POST", self._path(kind, namespace=namespace), body)

    def create_many(self, bodies: Iterable[Object], *, workers: int = 8) -> list[Object]:
        """Create many objects over several connections; the first refusal is raised."""
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(self.create, bodies))

    def get(self, kind: str, name: str, *, namespace: str = "default", subresource: str | None = None) -> Object:
        """The object as it is now."""
        return self.request("GET", self._path(kind, name, namespace=namespace, subresource=subresource))

    def list(self, kind: str, *, namespace: str | None = None, **options: str) -> list[Object]:
        """All objects of the kind, in all namespaces unless one is named; options as in `fieldSelector="…"`."""
        items: list[Object] = self.request("GET", self._path(kind, namespace=namespace), options=options)["items"]
        return items

    def patch(
        self,
        kind: str,
        name: str,
        change: Object | Sequence[Object],
        *,
        namespace: str = "default",
        subresource: str | None = None,
        how: str = "",
    ) -> Object:
        """Change an object: a dictionary is a merge patch and a list a JSON patch, unless `how` says otherwise."""
        content_type = _PATCHES[how or ("merge" if isinstance(change, dict) else "json")]
        path = self._path(kind, name, namespace=namespace, subresource=subresource)
        return self.request("PATCH", path, change, content_type=content_type)

    def replace(self, body: Object, *, subresource: str | None = None) -> Object:
        """Put the object as it is given, resource version included if it has one."""
        metadata = body["metadata"]
        kind, namespace = f"{body['apiVersion']}/{body['kind']}", metadata.get("namespace") or "default"
        return self.request(
            "PUT", self._path(kind, metadata["name"], namespace=namespace, subresource=subresource), body
        )

    def delete(self, kind: str, name: str, *, namespace: str = "default", grace_seconds: int | None = 0) -> Object:
        """Delete an object; at once by default, because no kubelet is there to end a bound pod."""
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        return self.request("DELETE", self._path(kind, name, namespace=namespace), options)

    def delete_all(self, kind: str, *, namespace: str | None = None) -> None:
        """Delete all objects of the kind, at once."""
        namespaces: Iterable[str] = [namespace] if namespace else ["default"]
        if namespace is None and self._resource(kind).namespaced:
            namespaces = {item["metadata"]["namespace"] for item in self.list(kind)}
        for each in namespaces:
            self.request("DELETE", self._path(kind, namespace=each), {"gracePeriodSeconds": 0})

    def watch(
        self, kind: str, *, namespace: str | None = None, timeout: float = 30, **options: str
    ) -> Generator[tuple[str, Object], None, None]:
        """(type, object) for every change, from `resourceVersion` if given, until the server ends the watch."""
        asked = {"watch": "true", "timeoutSeconds": str(int(timeout)), **options}
        path = f"{self._path(kind, namespace=namespace)}?{urlencode(asked)}"
        connection = self._connect(timeout + 5)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=self._headers)
            with connection.getresponse() as response:
                if response.status != 200:
                    raise ApiError(response.status, _decoded(response.read()))
                for line in response:
                    event = json.loads(line)
                    yield event["type"], event["object"]

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        options: Mapping[str, str] | None = None,
        accept: str = "application/json",
    ) -> Object:
        """Any request; the answer decoded, or `ApiError`."""
        status, answer = self.raw(method, path, body, content_type=content_type, options=options, accept=accept)
        decoded = _decoded(answer)
        if status >= 400:
            raise ApiError(status, decoded)
        return decoded

    def raw(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        options: Mapping[str, str] | None = None,
        accept: str = "application/json",
    ) -> tuple[int, bytes]:
        """Any request; status and body as they came."""
        target = f"{path}?{urlencode(options)}" if options else path
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {**self._headers, "Accept": accept, **({"Content-Type": content_type} if data else {})}
        while True:
            try:
                connection, reused = self._idle.pop(), True
            except IndexError:
                connection, reused = self._connect(self._timeout), False
            try:
                connection.request(method, target, data, headers)
                with connection.getresponse() as response:
                    status, answer = response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # A connection that the server closed while idle says nothing about this request.
                if reused and isinstance(error, (ConnectionError, http.client.HTTPException, ssl.SSLError)):
                    continue
                raise
            self._idle.append(connection)
            return status, answer

    def exchange(
        self, method: str, path: str, body: bytes, *, content_type: str, accept: str
    ) -> tuple[int, Sequence[str], str]:
        """Any request, sent as it is given; status, warnings and body, of a watch once the server ends it."""
        headers = {**self._headers, "Accept": accept, "Content-Type": content_type}
        connection = self._connect(self._timeout)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            with connection.getresponse() as response:
                return response.status, response.headers.get_all("Warning") or [], response.read().decode()

    def ready(self, path: str = "/readyz") -> bool:
        """Whether the server is there and says that it is well."""
        try:
            return self.raw("GET", path)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self._port, context=self._tls, timeout=timeout)

    def _path(
        self, kind: str, name: str | None = None, *, namespace: str | None = None, subresource: str | None = None
    ) -> str:
        return self._resource(kind).path(namespace, name, subresource)

    def _resource(self, kind: str) -> _Resource:
        if kind not in self._resources:
            self._resources = dict(self._discover())
        return self._resources[kind]

    def collections(self, *verbs: str) -> Iterator[tuple[str, str]]:
        """Path and kind of every collection that can do this, in its group's preferred version."""
        for group in self._groups():
            version = group["versions"][0]
            api_version = "/".join(filter(None, (group["metadata"].get("name"), version["version"])))
            prefix = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            for found in version.get("resources", ()):
                if set(verbs) <= set(found["verbs"]):
                    yield f"{prefix}/{found['resource']}", found["responseKind"]["kind"]

    def _groups(self) -> Sequence[Object]:
        return [
            group for root in ("/api", "/apis") for group in self.request("GET", root, accept=_DISCOVERY)["items"]
        ]

    def _discover(self) -> Iterator[tuple[str, _Resource]]:
        """Every kind with and without its version. Reversed, so that what is preferred is what stays."""
        for group in reversed(self._groups()):
            group_name = group["metadata"].get("name", "")
            for version in reversed(group["versions"]):
                api_version = f"{group_name}/{version['version']}" if group_name else version["version"]
                prefix = f"/apis/{api_version}" if group_name else f"/api/{api_version}"
                for found in version.get("resources", ()):
                    resource = _Resource(prefix, found["resource"], found["scope"] == "Namespaced")
                    yield found["responseKind"]["kind"], resource
                    yield f"{api_version}/{found['responseKind']['kind']}", resource


def _decoded(answer: bytes) -> Object:
    try:
        decoded = json.loads(answer)
    except ValueError:
        return {"message": answer.decode(errors="replace")}
    return decoded if isinstance(decoded, dict) else {"message": decoded}


def eventually(check: Callable[[], T | None], *, timeout: float = PATIENCE, interval: float = 0.05) -> T:
    """What `check` returns once that is true; the test fails with its last answer if it never is."""
    deadline = time.monotonic() + timeout
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s; last: {answer!r}")
        time.sleep(interval)
