"""How to test your own plugin: `python -m pytest test_http_scores.py`."""

import runpy
from pathlib import Path

import pytest

from bayplan import ConfigError
from bayplan.framework import Registry
from bayplan.testing import Harness, check_plugin, make_node, make_pod

HERE = Path(__file__).parent
HttpScores = Registry().add_reference(f"{HERE / 'http_scores.py'}:HttpScores").plugin
serving = runpy.run_path(str(HERE / "score_server.py"))["serving"]
CONFIGURATION = (HERE / "scheduler.yaml").read_text()


def harness(url):
    text = CONFIGURATION.replace("http://127.0.0.1:8080/scores", url)
    return Harness(configuration=text, plugins=[HttpScores], nodes=[make_node("a"), make_node("b")])


def test_scores_are_read_again_and_again():
    scores = {"a": 10, "b": 90}
    with serving(scores) as url, harness(url) as here:
        assert here.decide(make_pod("p")).node_name == "b"
        scores["a"] = 100
        here.wait(11)
        assert here.decide(make_pod("p")).node_name == "a"


def test_a_service_that_is_gone_is_asked_again():
    scores = {"a": 10, "b": 90}
    with serving(scores) as url:
        here = harness(url)
    here.wait(30)

    assert here.decide(make_pod("p")).node_name == "b"
    assert all(failure.startswith("HttpScores _read_scores: URLError") for failure in here.failures)
    assert len(here.failures) > 1
    here.close()


def test_scores_out_of_range_are_cut():
    with serving({"a": 1000, "b": -5}) as url:
        check_plugin(HttpScores, {"url": url})


def test_a_wrong_address_is_refused():
    with pytest.raises(ConfigError, match=r"args.url: .*begins with http"):
        harness("file:///etc/passwd")
