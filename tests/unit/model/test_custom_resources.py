"""PodGroup and ElasticQuota."""

from bayplan.model import ElasticQuota, PodGroup


def test_resources_are_in_the_schedulers_units() -> None:
    """cpu in thousandths, everything else in units."""
    amounts = {"cpu": "1500m", "memory": "1Ki"}
    group = PodGroup.from_dict({"spec": {"minMember": 3, "minResources": amounts}})
    quota = ElasticQuota.from_dict({"spec": {"min": amounts, "max": {"cpu": 2}}})

    assert group.spec.min_member == 3
    assert group.min_resources == quota.min == {"cpu": 1500, "memory": 1024}
    assert quota.max == {"cpu": 2000}
