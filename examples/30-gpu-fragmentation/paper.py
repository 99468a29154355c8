"""The table of a paper, made again: GPU allocation of six policies on a production trace.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
USENIX ATC 2023. README.md tells where the traces are to be had.
"""

import argparse
import csv
import gzip
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

import numpy as np
from go_random import GoRandom

from bayplan.lab import PodArrival, SimulationOptions, Trace, TraceError, read_trace, renamed, simulate

HERE = Path(__file__).parent
TRACES = HERE.parents[1].parent / "shared" / "traces"
NODES = "openb_node_list_gpu_node.csv.gz"
MIXES = ("default", "gpushare40", "cpu100")
PUBLISHED = "published-gpu-allocation.csv"
CLASSES = {name: name for name in ("DotProd", "GpuClustering", "GpuPacking", "BestFit", "FGD")} | {
    "Random": "RandomNode"
}
POLICIES = ("Random", "DotProd", "GpuClustering", "GpuPacking", "BestFit", "FGD")
SEEDS = tuple(range(42, 52))
ARRIVED = tuple(range(70, 131, 10))
ASKED = 1.3  # of all GPUs
POPULAR = 0.95  # of the pods have a typical shape
COLUMNS = ("trace", "policy", "seed", "arrived_percent", "gpu_allocation_percent")
COUNT, MILLI = "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"


def gpu_milli(pod):
    return int(pod.annotations.get(COUNT, 0)) * int(pod.annotations.get(MILLI, 0))


def arranged(trace, seed):
    """The pods of *trace* in random order, and drawn again until they ask for 130 % of the GPUs."""
    random = GoRandom(seed)
    random.int63()
    known = sorted((each.pod for each in trace.pods), key=lambda pod: pod.name)
    pods = list(known)
    random.shuffle(pods)
    wanted = ASKED * 1000 * sum(int(node.status.allocatable[COUNT]) for node in trace.nodes)
    pods = tuned(pods, known, wanted, random)
    entries = [each for each in trace.entries if not isinstance(each, PodArrival)]
    return Trace.of([*entries, *(PodArrival(float(second), pod) for second, pod in enumerate(pods))])


def tuned(pods, known, wanted, random):
    asked = sum(map(gpu_milli, pods))
    while asked > wanted:
        asked -= gpu_milli(pods.pop(random.intn(len(pods))))
    while asked < wanted:
        pod = known[random.intn(len(known))]
        if asked + int(pod.annotations.get(MILLI, 0)) > wanted:
            break
        pods.append(renamed(pod, f"{pod.name}-tuned-{len(pods)}"))
        asked += gpu_milli(pod)
    return pods


def typical_pods(pods):
    """The shapes of the most frequent pods, up to 95 % of all."""
    shapes = Counter(
        (
            pod.requests.get("cpu", 0),
            int(pod.annotations.get(COUNT, 0)),
            int(pod.annotations.get(MILLI, 0)),
            pod.annotations.get("alibabacloud.com/gpu-card-model", ""),
        )
        for pod in pods
    )
    typical, seen = [], 0
    for (cpu, count, milli, models), weight in sorted(shapes.items(), key=lambda each: (-each[1], each[0])):
        if seen >= POPULAR * len(pods):
            break
        seen += weight
        names = [name for name in models.split("|") if name]
        typical.append({"cpuMilli": cpu, "gpuCount": count, "gpuMilli": milli, "models": names, "weight": weight})
    return typical


def configuration(policy, pods):
    """The example's configuration with one policy."""
    text = (HERE / "scheduler.yaml").read_text().replace("name: FGD", f"name: {policy}")
    if policy == "FGD":
        args = json.dumps({"typicalPods": typical_pods(pods)})
        text += f"  pluginConfig:\n  - name: FGD\n    args: {args}\n"
    return text


def run_once(nodes, pods, policy, seed, ties):
    """(arrived percent, GPU allocation in percent) for 70, 80, … of one run."""
    trace = read_trace(nodes, pods)
    results = simulate(
        arranged(trace, seed),
        configuration=configuration(policy, [each.pod for each in trace.pods]),
        plugins=[f"{HERE / 'gpu_sharing.py'}:{name}" for name in ("GpuShare", CLASSES[policy])],
        options=SimulationOptions(seed=seed, ties=ties, retries=False),
    )
    samples = results.samples
    arrived = np.round(samples["arrived_gpu_milli"] / samples["capacity_gpu_milli"] * 100)
    rates = np.round(results.allocation_rate(), 2)
    return [(percent, round(float(at_percent(rates, arrived, percent).mean()), 2)) for percent in ARRIVED]


def at_percent(rates, arrived, percent):
    """The rates when that much had arrived; in a short trace, when it was nearest to it."""
    distances = np.abs(arrived - percent)
    return rates[distances == distances.min()]


def parsed(arguments):
    parser = argparse.ArgumentParser(description="Reproduce the published table of GPU allocation.")
    parser.add_argument(
        "--traces", type=Path, default=TRACES, help="the folder of the traces and the published table"
    )
    parser.add_argument("--nodes", type=Path, help="a list of nodes in openb's form, plain or .gz")
    parser.add_argument("--pods", type=Path, action="append", help="a list of pods; repeatable")
    parser.add_argument("--policies", default=",".join(POLICIES), help="some of them, divided by commas")
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="divided by commas")
    parser.add_argument("--ties", choices=("name", "random", "first"), default="name")
    parser.add_argument("--published", type=Path, help="the published table, if it is elsewhere")
    parser.add_argument("--out", type=Path, help="write the results to this CSV file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many runs at the same time")
    options = parser.parse_args(arguments)
    options.policies = options.policies.split(",")
    if unknown := set(options.policies) - set(POLICIES):
        parser.error(f"no policy {', '.join(sorted(unknown))}; there are {', '.join(POLICIES)}")
    try:
        options.seeds = [int(seed) for seed in options.seeds.split(",")]
    except ValueError:
        parser.error("--seeds takes whole numbers, divided by commas")
    options.nodes = options.nodes or options.traces / NODES
    options.pods = options.pods or [options.traces / f"openb_pod_list_{mix}.csv.gz" for mix in MIXES]
    options.published = options.published or options.traces / PUBLISHED
    for file in (options.nodes, *options.pods):
        if not file.is_file():
            parser.error(f"{file} is not there; README.md tells where to get the traces")
    return options


def name_of(pods):
    """`default` of openb_pod_list_default.csv.gz."""
    return pods.name.removeprefix("openb_pod_list_").split(".")[0]


def all_runs(options):
    """The rows of the table, in the same order however many runs there are at a time."""
    runs = list(product(options.pods, options.policies, options.seeds))
    found, start = {}, time.monotonic()
    for done, (run, rates) in enumerate(finished(runs, options), start=1):
        found[run] = rates
        left = (time.monotonic() - start) / done * (len(runs) - done)
        said = f"{done}/{len(runs)} {name_of(run[0])} {run[1]} {run[2]}, {left:.0f} s left"
        print(said, file=sys.stderr, flush=True)
    return [
        (name_of(pods), policy, seed, percent, rate)
        for pods, policy, seed in runs
        for percent, rate in found[pods, policy, seed]
    ]


def finished(runs, options):
    """(run, its rates) in the order in which they are done."""
    n_jobs = min(options.jobs, len(runs))
    if n_jobs == 1:
        yield from ((run, run_once(options.nodes, *run, options.ties)) for run in runs)
        return
    with ProcessPoolExecutor(n_jobs) as executor:
        started = {executor.submit(run_once, options.nodes, *run, options.ties): run for run in runs}
        yield from ((started[future], future.result()) for future in as_completed(started))


def published_rows(file):
    if not file.is_file():
        return []
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as text:
        return [
            (row["trace"], row["policy"], int(row["seed"]), int(row["arrived_percent"]), float(row[COLUMNS[-1]]))
            for row in csv.DictReader(text)
        ]


def means(rows, seeds):
    """(trace, policy, arrived percent) → the mean over seeds."""
    found = {}
    for trace, policy, seed, percent, rate in rows:
        if seed in seeds:
            found.setdefault((trace, policy, percent), []).append(rate)
    return {key: float(np.mean(rates)) for key, rates in found.items()}


def report(ours, theirs, options):
    """Our means beside the published ones of the same seeds."""
    for trace in dict.fromkeys(map(name_of, options.pods)):
        print(f"\n{trace}: GPU allocation in % (published), mean of {len(options.seeds)} seeds")
        print(f"{'arrived':15}" + "".join(f"{f'{percent} %':>16}" for percent in ARRIVED))
        for policy in options.policies:
            cells = [cell(ours, theirs, (trace, policy, percent)) for percent in ARRIVED]
            print(f"{policy:15}" + "".join(f"{text:>16}" for text in cells))
    compared = [abs(ours[key] - theirs[key]) for key in ours if key in theirs and key[2] in (100, 130)]
    if compared:
        print(f"\nlargest difference of a mean at 100 % and 130 %: {max(compared):.2f} points")


def cell(ours, theirs, key):
    if key not in ours:
        return "-"
    return f"{ours[key]:.2f} ({theirs[key]:.2f})" if key in theirs else f"{ours[key]:.2f}"


def write_csv(rows, file):
    """Under another name first: the file is there as a whole or not at all."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", newline="") as text:
            csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def main(arguments=None):
    options = parsed(arguments)
    try:
        for pods in options.pods:
            read_trace(options.nodes, pods)  # what is wrong with them is told before the first run
        rows = all_runs(options)
    except TraceError as error:
        raise SystemExit(f"error: {error}") from error
    if options.out:
        write_csv(rows, options.out)
    seeds = set(options.seeds)
    report(means(rows, seeds), means(published_rows(options.published), seeds), options)


if __name__ == "__main__":
    main()
