"""The command line: one module per command, which parses, calls and prints.

The module of a command is imported when the command is used, and heavy libraries inside its function, so that
`bayplan --help` responds immediately.
"""

from __future__ import annotations

import click

import bayplan
from bayplan.cli.lazy import LazyGroup
from bayplan.version import IS_COMPILED

COMMANDS = {
    "capacity": (
        "bayplan.cli.capacity.count",
        "Count how many more of a pod fit, and what runs out first.",
    ),
    "capture": ("bayplan.cli.capture", "Write what scheduling reads of a cluster to a file."),
    "completion": ("bayplan.cli.completion", "Print the script that completes commands and options in SHELL."),
    "config": ("bayplan.cli.config", "Show, check and migrate scheduler configurations."),
    "conformance": ("bayplan.cli.conformance", "Compare Bayplan with recordings of Kubernetes."),
    "demo": ("bayplan.cli.demo", "Run a plugin on a simulated cluster of four nodes."),
    "down": ("bayplan.cli.down", "Stop the cluster that runs in the background."),
    "drain-plan": (
        "bayplan.cli.capacity.drain_plan",
        "Tell where the pods of nodes would go if these were drained.",
    ),
    "explain": ("bayplan.cli.explain", "Explain where a pod is, or why it waits, and what would help."),
    "extender": ("bayplan.cli.extender", "Serve plugins to a kube-scheduler that cannot be replaced."),
    "manifests": ("bayplan.cli.manifests", "Print the manifests that deploy Bayplan to a cluster."),
    "pending": (
        "bayplan.cli.pending",
        "Show what waits to be scheduled, grouped by what would help.",
    ),
    "plugin": ("bayplan.cli.plugin", "Create, check, measure and list plugins."),
    "run": ("bayplan.cli.run", "Schedule the pods of a cluster."),
    "shadow": ("bayplan.cli.shadow", "Compare Bayplan with the scheduler of a cluster, pod by pod."),
    "simulate": ("bayplan.cli.simulate", "Simulate a scheduler on a trace, in virtual time."),
    "size": ("bayplan.cli.capacity.size", "Tell how many more nodes workloads need."),
    "status": ("bayplan.cli.status", "Show the cluster that runs in the background."),
    "up": ("bayplan.cli.up", "Run a cluster of simulated nodes in this process."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Documentation: docs/ in the repository; start with docs/architecture.md.",
)
@click.version_option(
    bayplan.__version__,
    prog_name="bayplan",
    message="%(prog)s, version %(version)s" + (", compiled" if IS_COMPILED else ""),
)
def main() -> None:
    """A Kubernetes scheduler and scheduling framework in Python.

    Reads kube-scheduler's configuration, makes kube-scheduler's decisions, and runs plugins that are Python
    classes.
    """
