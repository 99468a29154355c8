"""The surface is read from what a kube-scheduler prints and serves."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from tools.recording.surface import described, flags

HELP = """\
Usage:
  kube-scheduler [flags]

Secure serving flags:

      --bind-address ip           The address. (default 0.0.0.0)
      --disable-http2-serving     If true, HTTP2 serving will be disabled [default=false]
      --tls-cipher-suites strings   Comma-separated list.
                                    Preferred values: A, B.

Deprecated flags:

      --kube-api-qps float32      DEPRECATED: queries. (default 50)
      --feature-gates mapStringBool   Pairs:
                                    kube:A=true|false (ALPHA - default=false)
  -v, --v Level                   number for the log level verbosity
      --version version[=true]    prints the version
"""

METRICS = """\
# HELP scheduler_pending_pods [STABLE] Number of pending pods.
# TYPE scheduler_pending_pods gauge
scheduler_pending_pods{queue="gated"} 1
scheduler_pending_pods{queue="active"} 0
# HELP scheduler_latency_seconds [ALPHA] Latency.
# TYPE scheduler_latency_seconds histogram
scheduler_latency_seconds_bucket{le="0.1"} 1
scheduler_latency_seconds_bucket{le="+Inf"} 1
scheduler_latency_seconds_sum 0.05
scheduler_latency_seconds_count 1
# HELP go_goroutines Number of goroutines.
# TYPE go_goroutines gauge
go_goroutines 100
"""


def test_flags_are_read_from_the_help() -> None:
    """With types and defaults; a text of several lines belongs to its flag, and is no default."""
    assert flags(HELP) == {
        "bind-address": {"type": "ip", "default": "0.0.0.0", "deprecated": False},  # noqa: S104
        "disable-http2-serving": {"type": "bool", "default": None, "deprecated": False},
        "feature-gates": {"type": "mapStringBool", "default": None, "deprecated": False},
        "kube-api-qps": {"type": "float32", "default": "50", "deprecated": True},
        "tls-cipher-suites": {"type": "strings", "default": None, "deprecated": False},
        "v": {"type": "Level", "default": None, "deprecated": False},
        "version": {"type": "version[=true]", "default": None, "deprecated": False},
    }


def test_metrics_are_described_without_their_values() -> None:
    """And without those of Go."""
    families = {family.name: family for family in text_string_to_metric_families(METRICS)}

    assert list(described(families)) == [
        {
            "name": "scheduler_latency_seconds",
            "type": "histogram",
            "stability": "ALPHA",
            "labels": {},
            "buckets": ["0.1", "+Inf"],
        },
        {
            "name": "scheduler_pending_pods",
            "type": "gauge",
            "stability": "STABLE",
            "labels": {"queue": ["active", "gated"]},
        },
    ]
