"""v1beta1, v1beta2 and v1beta3 of KubeSchedulerConfiguration.

The shape is that of v1; what changed are some fields, the plugins there are, and the weights of the defaults.
"""

from __future__ import annotations

from bayplan.config.api_object import API_VERSION, GROUP
from bayplan.config.field_path import ROOT, Path
from bayplan.config.migrate.drafts import DraftMap, to_draft, to_tree
from bayplan.config.migrate.notes import Migration, Note
from bayplan.config.migrate.plugins import ProfileMigration
from bayplan.config.problems import Mark
from bayplan.config.tree import Mapping, Scalar

#: Lock types that leader election no longer supports.
OLD_LOCKS = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")
_WEIGHTS_NOTE = (
    "default weights have changed since {version}: TaintToleration 1 → 3, NodeAffinity 1 → 2, InterPodAffinity "
    "1 → 2; to keep the old ones, enable these plugins under score with weight 1"
)


def migrate_beta(root: Mapping, version: str) -> Migration:
    """Migrate a beta configuration to v1."""
    draft: DraftMap = to_draft(root)
    notes: list[Note] = []

    def note(path: Path, message: str, mark: Mark) -> None:
        notes.append(Note(path, message, mark))

    mark = draft.mark_of("apiVersion")
    draft["apiVersion"] = Scalar(API_VERSION, mark)
    note(ROOT / "apiVersion", f"{GROUP}/{version} is no longer served; this is {API_VERSION}", mark)
    if version in ("v1beta1", "v1beta2"):
        note(ROOT / "profiles", _WEIGHTS_NOTE.format(version=version), mark)
        for field in ("healthzBindAddress", "metricsBindAddress"):
            if field in draft:
                message = f"{field} was removed: health and metrics are served at --bind-address and --secure-port"
                note(ROOT / field, message, draft.mark_of(field))
                del draft[field]
    _migrate_lock(draft, note_to=notes)
    for i, profile in draft.list("profiles").maps():
        ProfileMigration(profile, ROOT / "profiles" / i, notes).run()
    if not draft["profiles"]:
        del draft["profiles"]
    return Migration(_mapping(draft), notes)


def _migrate_lock(draft: DraftMap, note_to: list[Note]) -> None:
    election = draft.get("leaderElection")
    if not isinstance(election, DraftMap) or election.text("resourceLock") not in OLD_LOCKS:
        return
    lock, mark = election.text("resourceLock"), election.mark_of("resourceLock")
    election["resourceLock"] = Scalar("leases", mark)
    message = (
        f"the lock {lock} was removed; a replica that still holds it does not see the Lease, "
        "so stop all old replicas before the first new one starts"
    )
    note_to.append(Note(ROOT / "leaderElection" / "resourceLock", message, mark))


def _mapping(draft: DraftMap) -> Mapping:
    tree = to_tree(draft, draft.mark)
    assert isinstance(tree, Mapping)  # noqa: S101 - a DraftMap becomes a Mapping
    return tree
