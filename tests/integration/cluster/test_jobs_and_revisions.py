"""Indexed Jobs, success policies, CronJobs, and the revisions of DaemonSets."""

from __future__ import annotations

from tests.integration.cluster.cluster_driver import ClusterDriver, Object, run_on_cluster

INDEXED = """
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  completions: 3
  parallelism: 3
  completionMode: Indexed
  template:
    metadata: {labels: {app: sum}}
    spec: {restartPolicy: Never, containers: [{name: c, image: sum}]}
"""
LEADER_ONLY = """
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  completions: 3
  parallelism: 1
  completionMode: Indexed
  successPolicy: {rules: [{succeededIndexes: "0"}]}
  template:
    metadata: {labels: {app: sum}}
    spec: {restartPolicy: Never, containers: [{name: c, image: sum}]}
"""
CRON_JOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "*/10 * * * *"
  successfulJobsHistoryLimit: 2
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: c, image: tick}]}
"""
DAEMON_SET = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
"""


async def _status(driver: ClusterDriver, name: str = "sum") -> Object:
    status: Object = (await driver.get("batch/v1", "jobs", name)).get("status") or {}
    return status


async def _is_complete(driver: ClusterDriver) -> bool:
    return any(each["type"] == "Complete" for each in (await _status(driver)).get("conditions", ()))


def test_an_indexed_job_gives_each_pod_its_index_as_hostname_name_and_variable() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(INDEXED)

        async def has_pods() -> bool:
            return len(await driver.pods(app="sum")) == 3

        await driver.until(has_pods)
        for pod in await driver.pods(app="sum"):
            index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
            assert pod["spec"]["hostname"] == f"sum-{index}"
            assert pod["metadata"]["name"].startswith(f"sum-{index}-")
            assert pod["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
        await driver.until(lambda: _is_complete(driver))
        assert (await _status(driver))["completedIndexes"] == "0-2"

    run_on_cluster(scenario)


def test_a_success_policy_completes_a_job_early() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(LEADER_ONLY)
        await driver.until(lambda: _is_complete(driver))
        status = await _status(driver)
        (condition,) = [each for each in status["conditions"] if each["type"] == "Complete"]
        assert (condition["reason"], condition["message"]) == ("SuccessPolicy", "Matched rules at index 0")
        assert status["succeeded"] == 1

    run_on_cluster(scenario)


def test_a_cron_job_fires_at_its_times_and_keeps_its_history() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(CRON_JOB)
        seen: set[str] = set()

        async def has_fired_four_times() -> bool:
            jobs = (await driver.cluster.get("/apis/batch/v1/namespaces/default/jobs"))["items"]
            seen.update(job["metadata"]["name"] for job in jobs)
            return len(seen) >= 4

        took = await driver.until(has_fired_four_times)
        assert 30 * 60 <= took <= 40 * 60, "every ten minutes"
        minutes = sorted(int(name.removeprefix("tick-")) for name in seen)
        assert [minute % 10 for minute in minutes] == [0, 0, 0, 0]

        async def is_tidy() -> bool:
            return len((await driver.cluster.get("/apis/batch/v1/namespaces/default/jobs"))["items"]) == 2

        await driver.until(is_tidy)
        assert (await driver.get("batch/v1", "cronjobs", "tick"))["status"]["lastScheduleTime"]

    run_on_cluster(scenario)


def test_a_daemon_set_keeps_its_templates_as_revisions() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DAEMON_SET)

        async def revisions() -> list[tuple[int, str]]:
            path = "/apis/apps/v1/namespaces/default/controllerrevisions"
            found = (await driver.cluster.get(path))["items"]
            images = [each["data"]["spec"]["template"]["spec"]["containers"][0]["image"] for each in found]
            return sorted(zip((each["revision"] for each in found), images, strict=True))

        async def are(*expected: tuple[int, str]) -> bool:
            return await revisions() == list(expected)

        await driver.until(lambda: are((1, "agent:1")))
        for image in ("agent:2", "agent:1"):
            template = {"spec": {"containers": [{"name": "c", "image": image}]}}
            await driver.patch("apps/v1", "daemonsets", "agent", {"spec": {"template": template}})
            last = ((1, "agent:1"), (2, "agent:2")) if image == "agent:2" else ((2, "agent:2"), (3, "agent:1"))
            await driver.until(lambda last=last: are(*last))  # type: ignore[misc]

    run_on_cluster(scenario)
