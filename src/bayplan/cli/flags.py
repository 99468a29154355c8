"""The flags of `bayplan run`: kube-scheduler's own, in its spelling, and what becomes of each.

A flag is honoured, or accepted without effect where it makes no sense here, or refused with a reason.
docs/flags.md is made of this table, and a test holds the table to the flags that kube-scheduler 1.36 has.
"""

from __future__ import annotations

from typing import Final

from bayplan.cli.flag import NO_EFFECT, REFUSED, Flag, flag, group_of, seconds
from bayplan.cli.flags_serving import SERVING_FLAGS

_RELABEL: Final = "labels are dropped where they are scraped: metric_relabel_configs of Prometheus does it"
_GO: Final = "there is no pprof for Python; py-spy shows where a running process spends its time"
_WITHOUT_CONFIG: Final = "only without --config, as in kube-scheduler"

FLAGS: Final[tuple[Flag, ...]] = (
    *group_of(
        "Misc",
        flag(
            "config",
            "string",
            "The configuration file: a KubeSchedulerConfiguration of any version, or a Policy.",
            metavar="FILE",
        ),
        flag(
            "write-config-to", "string", "Write the configuration in effect to this file and exit.", metavar="FILE"
        ),
        flag("master", "string", "The address of the API server, instead of the kubeconfig's.", metavar="URL"),
    ),
    *SERVING_FLAGS,
    *group_of(
        "Leader election",
        flag("leader-elect", "bool", "Schedule only while holding the Lease.", True),
        flag(
            "leader-elect-lease-duration",
            "duration",
            "How long the others wait for a leader that is silent.",
            seconds(15),
        ),
        flag(
            "leader-elect-renew-deadline",
            "duration",
            "How long a leader tries to renew before it gives up.",
            seconds(10),
        ),
        flag("leader-elect-retry-period", "duration", "How often the Lease is asked for or renewed.", seconds(2)),
        flag("leader-elect-resource-lock", "string", "leases, the only kind there is.", "leases"),
        flag("leader-elect-resource-name", "string", "The name of the Lease.", "kube-scheduler", metavar="NAME"),
        flag("leader-elect-resource-namespace", "string", "Its namespace.", "kube-system", metavar="NAME"),
    ),
    *group_of(
        "Feature gate",
        flag(
            "feature-gates",
            "colonSeparatedMultimapStringString",
            "Name=true or Name=false, several with commas.",
            metavar="GATES",
            note="gates that a scheduler looks at stay at their default in 1.36; those of others are accepted",
        ),
        flag(
            "emulated-version",
            "strings",
            "1.36, the version that is spoken here.",
            note="other versions are refused",
        ),
        flag("min-compatibility-version", "strings", "1.36 or 1.35.", note="other versions are refused"),
    ),
    *group_of(
        "Metrics",
        flag("disabled-metrics", "strings", "Metrics that are not shown, by name."),
        flag("show-hidden-metrics-for-version", "string", "No effect.", "", NO_EFFECT, "no metric is hidden"),
        flag("allow-metric-labels", "stringToString", "Refused.", (), REFUSED, _RELABEL),
        flag("allow-metric-labels-manifest", "string", "Refused.", "", REFUSED, _RELABEL),
    ),
    *group_of(
        "Logs",
        flag("v", "Level", "How much to log, 0 to 10.", metavar="LEVEL"),
        flag(
            "vmodule",
            "pattern=N,...",
            "Levels of some files: attempts=5,queue*=4.",
            note="files are Bayplan's: attempts, not schedule_one",
        ),
        flag("logging-format", "string", "text or json.", "text"),
        flag(
            "log-text-split-stream",
            "bool",
            "What is no error goes to standard output.",
            note="works without the gate LoggingAlphaOptions",
        ),
        flag(
            "log-json-split-stream",
            "bool",
            "What is no error goes to standard output.",
            note="works without the gate LoggingAlphaOptions",
        ),
        flag(
            "log-text-info-buffer-size", "quantity", "No effect.", "0", NO_EFFECT, "every line is written at once"
        ),
        flag(
            "log-json-info-buffer-size", "quantity", "No effect.", "0", NO_EFFECT, "every line is written at once"
        ),
        flag(
            "log-flush-frequency",
            "duration",
            "No effect.",
            seconds(5),
            NO_EFFECT,
            "every line is written at once",
        ),
    ),
    *group_of(
        "Deprecated",
        flag(
            "kubeconfig",
            "string",
            "How to reach the API server.",
            metavar="FILE",
            deprecated=True,
            note="with --config it counts only where that names none; kube-scheduler ignores it then",
        ),
        flag(
            "kube-api-qps",
            "float32",
            "Requests per second to the API server.",
            50.0,
            deprecated=True,
            note=_WITHOUT_CONFIG,
        ),
        flag("kube-api-burst", "int32", "Requests at once.", 100, deprecated=True, note=_WITHOUT_CONFIG),
        flag(
            "kube-api-content-type",
            "string",
            "No effect.",
            "application/vnd.kubernetes.protobuf",
            NO_EFFECT,
            "JSON is spoken with the API server, and nothing else",
            deprecated=True,
        ),
        flag(
            "pod-max-in-unschedulable-pods-duration",
            "duration",
            "How long a pod waits at most for something to help it.",
            seconds(300),
            deprecated=True,
        ),
        flag(
            "profiling",
            "bool",
            "Allow PUT on /debug/flags/v.",
            True,
            note=f"no /debug/pprof: {_GO}; {_WITHOUT_CONFIG}",
            deprecated=True,
        ),
        flag("contention-profiling", "bool", "No effect.", True, NO_EFFECT, _GO, deprecated=True),
    ),
)

#: Of kube-scheduler too, and part of every command line.
GENERAL: Final = ("help", "version")
BY_NAME: Final = {each.name: each for each in FLAGS}
GROUPS: Final = tuple(dict.fromkeys(each.group for each in FLAGS))
