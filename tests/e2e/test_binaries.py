"""Finding the programs of a control plane; none of them is needed here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e import binaries
from tests.e2e.binaries import (
    ETCD_VERSION,
    HELM_VERSION,
    KUBERNETES,
    KUBERNETES_VERSION,
    KUBERNETES_VERSIONS,
    PROGRAMS,
    MissingProgramError,
)

from bayplan.release import SUPPORTED


def _place(folder: Path, *programs: str, version: str = "") -> None:
    """Programs that say a version and do nothing else."""
    folder.mkdir(exist_ok=True)
    for program in programs:
        told = {
            "etcd": f"etcd Version: {version or ETCD_VERSION.removeprefix('v')}",
            "kubectl": f"Client Version: {version or KUBERNETES_VERSION}",
            "helm": f'version.BuildInfo{{Version:"{version or HELM_VERSION}", GitCommit:""}}',
        }.get(program, f"Kubernetes {version or KUBERNETES_VERSION}")
        (folder / program).write_text(f"#!/bin/sh\necho '{told}'\n")
        (folder / program).chmod(0o755)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Three folders to look in, all empty."""
    return {
        "KUBEBUILDER_ASSETS": str(tmp_path / "assets"),
        "PATH": str(tmp_path / "path"),
        "BAYPLAN_CONTROL_PLANE": str(tmp_path / "cache"),
    }


def test_assets_come_before_path_and_cache(env: dict[str, str], tmp_path: Path) -> None:
    """Each program is taken from the first folder that has it."""
    _place(tmp_path / "assets", "etcd", "kube-apiserver", "kubectl")
    _place(tmp_path / "path", "kubectl", "kube-scheduler")
    _place(tmp_path / "cache", *PROGRAMS)

    found = binaries.find(env)

    assert {program: path.parent.name for program, path in found.paths.items()} == {
        "etcd": "assets",
        "kube-apiserver": "assets",
        "kube-controller-manager": "cache",
        "kube-scheduler": "path",
        "kubectl": "assets",
        "helm": "cache",
    }


def test_other_minor_versions_are_passed_over(env: dict[str, str], tmp_path: Path) -> None:
    """An older kubectl on the PATH does not stand in for the one of our version."""
    _place(tmp_path / "path", "kubectl", version="v1.32.4")
    _place(tmp_path / "cache", *PROGRAMS)

    found = binaries.find(env)

    assert found.paths["kubectl"] == tmp_path / "cache" / "kubectl"
    minor = KUBERNETES_VERSION.rpartition(".")[0]
    assert found.refused == [f"{tmp_path}/path/kubectl is v1.32.4, not {minor}"]


def test_without_go_the_message_says_what_to_do(env: dict[str, str], tmp_path: Path) -> None:
    """Nothing found and nothing to build with: what is missing is named, and both ways out."""
    _place(tmp_path / "path", "etcd")

    with pytest.raises(MissingProgramError) as error:
        binaries.install(env)

    assert f"there is no {', '.join(PROGRAMS[1:])} here" in str(error.value)
    assert "install Go" in str(error.value)
    assert "KUBEBUILDER_ASSETS" in str(error.value)


def test_what_is_found_is_not_built(env: dict[str, str], tmp_path: Path) -> None:
    """With every program there, Go is not asked for."""
    _place(tmp_path / "cache", *PROGRAMS)

    assert set(binaries.install(env)) == set(PROGRAMS)


def test_cache_folder_is_the_users() -> None:
    """A folder for each version, under the user's cache folder."""
    assert binaries.cache_folder({"XDG_CACHE_HOME": "/caches"}) == Path(
        f"/caches/bayplan/control-plane/{KUBERNETES_VERSION}"
    )


def test_release_is_chosen_by_a_variable() -> None:
    """Each release has a folder of its own; one that is not there is an error that names those that are."""
    env = {"XDG_CACHE_HOME": "/caches", binaries.RELEASE_VARIABLE: "1.36"}
    assert binaries.cache_folder(env).name == KUBERNETES_VERSIONS["1.36"]
    with pytest.raises(ValueError, match=r"is 1\.20; there are 1\.36 and 1\.37"):
        binaries.chosen_release({binaries.RELEASE_VARIABLE: "1.20"})


def test_etcd_and_helm_serve_all_releases(tmp_path: Path) -> None:
    """What was built for one release is found for the other, Kubernetes' own programs aside."""
    older, newer = KUBERNETES_VERSIONS.values()
    built = tmp_path / "bayplan" / "control-plane"
    (built / newer).mkdir(parents=True)
    _place(built / newer, "etcd", "helm")
    _place(built / newer, *KUBERNETES, version=newer)
    env = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "", binaries.RELEASE_VARIABLE: "1.36"}

    found = binaries.find(env)

    assert set(found.paths) == {"etcd", "helm"}
    assert found.refused == []
    assert binaries.cache_folder(env) == built / older


def test_every_supported_release_can_be_built() -> None:
    """The control plane is built in the versions that were recorded."""
    assert {f"v{release.version}" for release in SUPPORTED.values()} == set(KUBERNETES_VERSIONS.values())


@pytest.mark.parametrize("minor", KUBERNETES_VERSIONS)
def test_staging_modules_match_kubernetes(minor: str) -> None:
    """v1.36.4 is made of staging modules v0.36.4, every one of them."""
    text = (binaries.MODULES / f"kubernetes-{minor}" / "go.mod").read_text()
    replaced = [line.split() for line in text.partition("replace (")[2].splitlines() if "=>" in line]

    assert len(replaced) > 30
    assert {line[-1] for line in replaced} == {KUBERNETES_VERSIONS[minor].replace("v1.", "v0.", 1)}
