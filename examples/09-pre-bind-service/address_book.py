import aiohttp

from bayplan import Args, Plugin, Status


class AddressBookArgs(Args):
    url: str = "http://127.0.0.1:8070"
    timeout_seconds: float = 5.0


class AddressBook(Plugin[AddressBookArgs]):
    """Registers the node of each pod with a service before the bind. If it refuses, the pod is not bound."""

    name = "AddressBook"

    async def pre_bind(self, state, pod, node_name):
        timeout = aiohttp.ClientTimeout(total=self.args.timeout_seconds)
        try:
            async with aiohttp.ClientSession(timeout=timeout) as session:
                entry = {"pod": pod.key, "node": node_name}
                async with session.post(f"{self.args.url}/entries", json=entry) as response:
                    if response.status != 201:
                        return Status.failed(f"the address book says {response.status}: {await response.text()}")
        except (aiohttp.ClientError, TimeoutError) as error:
            return Status.failed(f"the address book does not answer: {error}")
