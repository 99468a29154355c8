"""Garbage collection over all served kinds: owners, second owners, circles, custom resources."""

from __future__ import annotations

from typing import Any

from tests.integration.cluster.cluster_driver import ClusterDriver, Object, run_on_cluster

from bayplan.client import NotFoundError

WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
CONFIG_MAP = ("v1", "ConfigMap", "configmaps")
WIDGET = ("example.com/v1", "Widget", "widgets")
Kind = tuple[str, str, str]


class _Owners:
    """Makes objects with owners, and looks for them."""

    def __init__(self, driver: ClusterDriver) -> None:
        self.driver = driver

    async def make(self, kind: Kind, name: str, *owners: Object) -> Object:
        """Returns a reference to the new object."""
        api_version, kind_name, plural = kind
        meta = {"name": name, "namespace": "default", "ownerReferences": list(owners)}
        await self.driver.cluster.apply([{"apiVersion": api_version, "kind": kind_name, "metadata": meta}])
        uid = (await self.driver.get(api_version, plural, name))["metadata"]["uid"]
        return {"apiVersion": api_version, "kind": kind_name, "name": name, "uid": uid, "blockOwnerDeletion": True}

    async def delete(self, kind: Kind, name: str, policy: str = "Background") -> None:
        await self.driver.delete(kind[0], kind[2], name, body={"propagationPolicy": policy})

    async def is_there(self, kind: Kind, name: str) -> bool:
        try:
            await self.driver.get(kind[0], kind[2], name)
        except NotFoundError:
            return False
        return True

    async def gone(self, kind: Kind, *names: str) -> None:
        async def are_gone() -> bool:
            return not any([await self.is_there(kind, name) for name in names])

        await self.driver.until(are_gone)

    async def owners_of(self, kind: Kind, name: str) -> list[dict[str, Any]]:
        found = await self.driver.get(kind[0], kind[2], name)
        owners: list[dict[str, Any]] = found["metadata"].get("ownerReferences") or []
        return owners


def test_an_object_of_any_kind_goes_with_its_owner() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        owners = _Owners(driver)
        parent = await owners.make(CONFIG_MAP, "parent")
        await owners.make(("v1", "Secret", "secrets"), "child", parent)
        await owners.make(("v1", "ServiceAccount", "serviceaccounts"), "child", parent)
        await owners.delete(CONFIG_MAP, "parent")
        await owners.gone(("v1", "Secret", "secrets"), "child")
        await owners.gone(("v1", "ServiceAccount", "serviceaccounts"), "child")

    run_on_cluster(scenario)


def test_a_second_owner_that_is_there_keeps_an_object_and_the_first_is_forgotten() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        owners = _Owners(driver)
        first, second = await owners.make(CONFIG_MAP, "first"), await owners.make(CONFIG_MAP, "second")
        await owners.make(CONFIG_MAP, "child", first, second)
        await owners.delete(CONFIG_MAP, "first", "Foreground")

        async def has_one_owner() -> bool:
            return [each["name"] for each in await owners.owners_of(CONFIG_MAP, "child")] == ["second"]

        await driver.until(has_one_owner)
        await owners.gone(CONFIG_MAP, "first")
        await owners.delete(CONFIG_MAP, "second")
        await owners.gone(CONFIG_MAP, "child")

    run_on_cluster(scenario)


def test_a_circle_that_is_deleted_in_the_foreground_goes_as_a_whole() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        owners = _Owners(driver)
        first = await owners.make(CONFIG_MAP, "first")
        second = await owners.make(CONFIG_MAP, "second", first)
        third = await owners.make(CONFIG_MAP, "third", second)
        await driver.patch("v1", "configmaps", "first", {"metadata": {"ownerReferences": [third]}})
        await owners.delete(CONFIG_MAP, "first", "Foreground")
        await owners.gone(CONFIG_MAP, "first", "second", "third")

    run_on_cluster(scenario)


def test_a_custom_resource_that_is_deleted_in_the_foreground_goes_after_its_dependents() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(WIDGETS)
        owners = _Owners(driver)
        parent = await owners.make(WIDGET, "parent")
        child = await owners.make(WIDGET, "child", parent)
        await owners.make(CONFIG_MAP, "grandchild", child)
        await owners.delete(WIDGET, "parent", "Foreground")

        async def is_gone() -> bool:
            gone = not await owners.is_there(WIDGET, "parent")
            assert not gone or not await owners.is_there(WIDGET, "child"), "the owner went before its dependent"
            return gone

        await driver.until(is_gone)
        await owners.gone(CONFIG_MAP, "grandchild")

    run_on_cluster(scenario)


def test_an_owner_waits_in_the_foreground_only_for_dependents_that_say_so() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        owners = _Owners(driver)
        parent = await owners.make(CONFIG_MAP, "parent")
        child = {**parent, "blockOwnerDeletion": False}
        await owners.make(CONFIG_MAP, "child", child)
        await driver.patch("v1", "configmaps", "child", {"metadata": {"finalizers": ["example.com/held"]}})
        await owners.delete(CONFIG_MAP, "parent", "Foreground")
        await owners.gone(CONFIG_MAP, "parent")
        assert await owners.is_there(CONFIG_MAP, "child"), "its own finalizer holds it"

    run_on_cluster(scenario)


def test_orphans_of_a_custom_resource_stay() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(WIDGETS)
        owners = _Owners(driver)
        parent = await owners.make(WIDGET, "parent")
        await owners.make(CONFIG_MAP, "child", parent)
        await owners.delete(WIDGET, "parent", "Orphan")
        await owners.gone(WIDGET, "parent")
        assert await owners.owners_of(CONFIG_MAP, "child") == []

    run_on_cluster(scenario)


def test_an_owner_of_a_kind_that_is_not_served_keeps_its_dependents_until_the_kind_is() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        owners = _Owners(driver)
        unknown = {"apiVersion": WIDGET[0], "kind": WIDGET[1], "name": "nobody", "uid": "no-such-uid"}
        await owners.make(CONFIG_MAP, "child", unknown)
        await driver.stay(lambda: owners.is_there(CONFIG_MAP, "child"), 60.0)
        await driver.apply(WIDGETS)
        await owners.gone(CONFIG_MAP, "child")

    run_on_cluster(scenario)


def test_dependents_go_with_the_definition_of_their_owner() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(WIDGETS)
        owners = _Owners(driver)
        await owners.make(CONFIG_MAP, "child", await owners.make(WIDGET, "parent"))
        await driver.stay(lambda: owners.is_there(CONFIG_MAP, "child"), 5.0)
        await driver.delete("apiextensions.k8s.io/v1", "customresourcedefinitions", "widgets.example.com", "")
        await owners.gone(CONFIG_MAP, "child")

    run_on_cluster(scenario)


def test_an_owner_of_the_same_name_in_another_namespace_does_not_count() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        owners = _Owners(driver)
        await driver.apply("{apiVersion: v1, kind: Namespace, metadata: {name: other}}")
        await driver.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: parent, namespace: other}}")
        uid = (await driver.get("v1", "configmaps", "parent", "other"))["metadata"]["uid"]
        elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid}
        await owners.make(CONFIG_MAP, "child", elsewhere)
        await owners.gone(CONFIG_MAP, "child")

    run_on_cluster(scenario)
