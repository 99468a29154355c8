"""A name means one thing: no class or module name appears twice in src/bayplan, but where that is intended.

A reader who searches for a name should find one place. Two of the same name are fine where both packages are known
for what they do, and the name says the rest: such names are listed here, with a reason each. A package with too
many modules is hard to search as well, so their number has a limit.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "bayplan"
MAX_MODULES = 30

#: Packages with a module for each kind of the Kubernetes API, or for each plugin. Modules of one name in several
#: of them share their subject: a kind's fields, its rules, its columns, its controller; a plugin, its arguments.
BY_SUBJECT = (
    "apiserver/admission",
    "apiserver/strategies",
    "apiserver/subresources",
    "apiserver/tables",
    "config/args",
    "controllers",
    "model",
    "plugins",
)

#: Module → why several packages have one of this name.
SAME_MODULES: Mapping[str, str] = {
    "check": "cli: the command `check` of its package",
    "claims": "conformance: recorded claims of devices; plugins: claims of volumes",
    "events": "framework: cluster events of plugins; apiserver/strategies: the kind",
    "nodes": "framework: the nodes that a plugin sees; apiserver/strategies: the kind",
    "preemption": "framework: the rules; core: preemptions under way; config/args: the arguments of the plugin",
    "status": "cli: the command `status`; framework: the result of a plugin",
    "virtual_time": "apiserver: a cluster in virtual time; shell: without an event loop",
}

#: Class → why there are several of this name.
SAME_CLASSES: Mapping[str, str] = {
    "Counter": "model: an amount that devices share; observe: a metric",
    "DeviceSelector": "model: the field of a request; cel: its compiled expression",
    "Duration": "config: of a configuration; cel: CEL's type",
    "Extender": "config: its configuration; framework: what is called",
    "Kind": "model: of objects; cel: of types",
    "NodeAffinity": "model: the field of a pod; plugins: the plugin of that name",
    "Plugin": "config: a plugin's entry in a profile; framework: the base class",
    "WaitingPod": "framework: the protocol that plugins see; core: the implementation",
    "WaitingPods": "the same",
    "Victims": "framework: of a preemption; extender: the same on the wire, as in Kubernetes",
}


def _modules() -> Iterator[Path]:
    """Every module, relative to the package; samples are copied by users and not imported."""
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE)
        if relative.parts[:2] != ("cli", "samples"):
            yield relative


def _modules_by_name() -> dict[str, list[Path]]:
    """Without the underscore that makes a module private: `_pod_groups.py` is a `pod_groups`."""
    found = defaultdict(list)
    for path in _modules():
        if path.stem not in ("__init__", "__main__"):
            found[path.stem.lstrip("_")].append(path)
    return found


def _classes_by_name() -> dict[str, list[Path]]:
    found = defaultdict(list)
    for path in _modules():
        for node in ast.walk(ast.parse((SOURCE / path).read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path)
    return found


def _is_by_subject(paths: Iterable[Path]) -> bool:
    """Whether all of them are in packages with a module for each subject, and in different ones."""
    packages = [
        package
        for path in paths
        for package in BY_SUBJECT
        if f"{path.parent.as_posix()}/".startswith(f"{package}/")
    ]
    return len(packages) == len(set(packages)) == len(list(paths))


def _listed(found: Mapping[str, Sequence[Path]]) -> str:
    return "\n".join(f"  {name}: {', '.join(map(str, paths))}" for name, paths in sorted(found.items()))


def test_a_module_name_is_used_once() -> None:
    """Or the packages make the difference plain."""
    found = {
        name: paths
        for name, paths in _modules_by_name().items()
        if len(paths) > 1 and name not in SAME_MODULES and not _is_by_subject(paths)
    }

    assert not found, (
        f"modules of the same name:\n{_listed(found)}\n"
        "Rename all but one after what it holds (`client/retry.py`, not a second `backoff.py`), or merge them. "
        "If the packages make the difference plain, add the name to SAME_MODULES with a reason."
    )


def test_a_class_name_is_used_once() -> None:
    """Or the packages make the difference plain."""
    found = {
        name: paths for name, paths in _classes_by_name().items() if len(paths) > 1 and name not in SAME_CLASSES
    }

    assert not found, (
        f"classes of the same name:\n{_listed(found)}\n"
        "Rename all but one after what it is for (`QuotaUsage` rather than a second `Usage`), or share one class. "
        "If the packages make the difference plain, add the name to SAME_CLASSES with a reason."
    )


def test_classes_of_one_package_differ() -> None:
    """Within a package nothing makes a difference but the name, so there is no exception."""
    found: dict[str, list[Path]] = {}
    for name, paths in _classes_by_name().items():
        parents = [path.parent for path in paths]
        if len(set(parents)) < len(parents) and not name.startswith("_"):
            found[name] = paths

    assert not found, f"classes of the same name in one package:\n{_listed(found)}\nRename all but one."


def test_exceptions_are_needed() -> None:
    """A name that appears once is no exception any more."""
    modules, classes = _modules_by_name(), _classes_by_name()
    stale = [f"SAME_MODULES: {name}" for name in SAME_MODULES if len(modules.get(name, ())) < 2]
    stale += [f"SAME_CLASSES: {name}" for name in SAME_CLASSES if len(classes.get(name, ())) < 2]

    assert not stale, "delete these lines, the name is used at most once:\n  " + "\n  ".join(stale)


def test_packages_have_few_modules() -> None:
    """So that one look at a folder shows what is in it."""
    modules = defaultdict(list)
    for path in _modules():
        if path.name != "__init__.py":
            modules[path.parent.as_posix()].append(path.stem)
    found = {package: sorted(names) for package, names in modules.items() if len(names) > MAX_MODULES}

    assert not found, (
        f"packages with more than {MAX_MODULES} modules: "
        f"{', '.join(f'{package} ({len(names)})' for package, names in found.items())}.\n"
        "Merge small modules that always change together, or move a group of modules into a package of its own."
    )
