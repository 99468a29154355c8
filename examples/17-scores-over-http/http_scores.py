import asyncio
import json
import urllib.request

from bayplan import Args, FieldError, Plugin


class HttpScoresArgs(Args):
    url: str = "http://127.0.0.1:8080/scores"
    interval_seconds: float = 10.0

    def validate(self, path):
        if not self.url.startswith(("http://", "https://")):
            return [FieldError(path / "url", "an address that begins with http:// or https:// is needed")]
        return []


class HttpScores(Plugin[HttpScoresArgs]):
    """Nodes have the scores that a service gives them: {"node-1": 80, …}, from 0 to 100.

    The service is asked in the background. A decision never waits for it: it takes the scores as last read.
    """

    name = "HttpScores"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.scores = {}
        # Started again if it fails, with a line in the log: the last scores stay in use meanwhile.
        handle.spawn(self._read_scores)

    async def _read_scores(self):
        while True:
            # What blocks runs in a thread of its own.
            self.scores = await asyncio.to_thread(fetch, self.args.url)
            await self.handle.clock.sleep(self.args.interval_seconds)

    def score(self, state, pod, node):
        return self.scores.get(node.name, 0)


def fetch(url):
    with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310  the address is checked by the args
        scores = json.load(response)
    return {name: max(0, min(100, int(score))) for name, score in scores.items()}
