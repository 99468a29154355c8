"""The flags of `bayplan run`: those of kube-scheduler, and how Bayplan treats each.

A flag is honoured, or accepted without effect if it makes no sense here, or refused with a reason. docs/flags.md
shows this table, and a test compares it with the flags of kube-scheduler.
"""

from __future__ import annotations

from typing import Final

from bayplan.cli.flags.flag import NO_EFFECT, REFUSED, Flag, flag, group_of, seconds
from bayplan.cli.flags.serving_flags import SERVING_FLAGS

_RELABEL: Final = "drop labels when scraping, with metric_relabel_configs of Prometheus"
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
            "How long other replicas wait for a leader that does not renew the Lease.",
            seconds(15),
        ),
        flag(
            "leader-elect-renew-deadline",
            "duration",
            "How long a leader tries to renew the Lease before it gives up.",
            seconds(10),
        ),
        flag(
            "leader-elect-retry-period",
            "duration",
            "How often a replica tries to acquire or renew the Lease.",
            seconds(2),
        ),
        flag("leader-elect-resource-lock", "string", "Only leases is supported.", "leases"),
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
            note="gates of the scheduler keep the default of the release; gates of other components are accepted",
        ),
        flag(
            "emulated-version",
            "strings",
            "The release of Kubernetes to follow, 1.36 or 1.37; by default that of the API server.",
            note="other versions are refused",
        ),
        flag(
            "min-compatibility-version",
            "strings",
            "The release before the emulated one.",
            note="other versions are refused",
        ),
    ),
    *group_of(
        "Metrics",
        flag("disabled-metrics", "strings", "Names of metrics to leave out."),
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
            "Log levels of single files: schedule_one=5,queue*=4.",
            note="files are those of Bayplan",
        ),
        flag("logging-format", "string", "text or json.", "text"),
        flag(
            "log-text-split-stream",
            "bool",
            "Write messages other than errors to standard output.",
            note="works without the gate LoggingAlphaOptions",
        ),
        flag(
            "log-json-split-stream",
            "bool",
            "Write messages other than errors to standard output.",
            note="works without the gate LoggingAlphaOptions",
        ),
        flag(
            "log-text-info-buffer-size",
            "quantity",
            "No effect.",
            "0",
            NO_EFFECT,
            "every line is written immediately",
        ),
        flag(
            "log-json-info-buffer-size",
            "quantity",
            "No effect.",
            "0",
            NO_EFFECT,
            "every line is written immediately",
        ),
        flag(
            "log-flush-frequency",
            "duration",
            "No effect.",
            seconds(5),
            NO_EFFECT,
            "every line is written immediately",
        ),
    ),
    *group_of(
        "Deprecated",
        flag(
            "kubeconfig",
            "string",
            "The kubeconfig of the API server.",
            metavar="FILE",
            deprecated=True,
            note="with --config it is used only if the configuration names none; kube-scheduler ignores it then",
        ),
        flag(
            "kube-api-qps",
            "float32",
            "Requests per second to the API server.",
            50.0,
            deprecated=True,
            note=_WITHOUT_CONFIG,
        ),
        flag(
            "kube-api-burst",
            "int32",
            "The burst of requests above that rate.",
            100,
            deprecated=True,
            note=_WITHOUT_CONFIG,
        ),
        flag(
            "kube-api-content-type",
            "string",
            "No effect.",
            "application/vnd.kubernetes.protobuf",
            NO_EFFECT,
            "only JSON is used with the API server",
            deprecated=True,
        ),
        flag(
            "pod-max-in-unschedulable-pods-duration",
            "duration",
            "The longest time that a pod stays unschedulable before it is tried again.",
            seconds(300),
            deprecated=True,
        ),
        flag(
            "profiling",
            "bool",
            "Serve /debug/pprof, and allow PUT on /debug/flags/v.",
            True,
            note=f"the profile is one for speedscope, not for `go tool pprof`; {_WITHOUT_CONFIG}",
            deprecated=True,
        ),
        flag(
            "contention-profiling",
            "bool",
            "No effect.",
            True,
            NO_EFFECT,
            "a profile of Go",
            deprecated=True,
        ),
    ),
)

BY_NAME: Final = {each.name: each for each in FLAGS}
GROUPS: Final = tuple(dict.fromkeys(each.group for each in FLAGS))
