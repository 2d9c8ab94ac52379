"""The files in volumes of Pods that run are kept in step with what they are made from, as the kubelet keeps them.

ConfigMaps and Secrets are read anew now and then; a ServiceAccount's token gets a successor when most of its time is
over. What cannot be read or made keeps what it has: whoever runs is not disturbed, and the next look may find it again.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from heliostat.embedded.node.environment import MissingReferenceError
from heliostat.embedded.node.pods import NodePod
from heliostat.embedded.node.storage.references import fetch_sources, fetch_token
from heliostat.embedded.node.storage.volumes import Sources, TokenWish
from heliostat.runtime.client import Client
from heliostat.runtime.errors import ApiError

PERIOD: Final = 10.0
_SERVED_PART: Final = 0.8  # of its time, after which a token gets a successor


class _Token(Struct, frozen=True):
    text: str
    until: float  # then it is time for the next one


class VolumeUpkeep:
    """``fill`` writes the volumes of a Pod; ``find_sandbox`` what it runs in by its UID, None when it does not."""

    def __init__(
        self,
        pods: Iterable[NodePod],
        find_sandbox: Callable[[str], object | None],
        fill: Callable[[NodePod, Sources], object],
        client: Client,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pods = pods
        self._find_sandbox = find_sandbox
        self._fill = fill
        self._client = client
        self._clock = clock
        self._tokens: dict[tuple[str, TokenWish], _Token] = {}  # by the UID of the Pod

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            await self.look()

    async def look(self) -> None:
        here = [pod for pod in self._pods if pod.spec.volumes and self._runs(pod)]
        uids = {pod.metadata.uid for pod in here}
        self._tokens = {key: token for key, token in self._tokens.items() if key[0] in uids}
        for pod in here:
            await self._keep(pod)

    async def _keep(self, pod: NodePod) -> None:
        try:
            sources = await fetch_sources(self._client, pod, self._find_token)
            if self._runs(pod):  # it may have ended meanwhile
                self._fill(pod, sources)
        except (ApiError, MissingReferenceError, OSError):
            return

    def _runs(self, pod: NodePod) -> bool:
        return self._find_sandbox(pod.metadata.uid) is not None

    async def _find_token(self, client: Client, pod: NodePod, wish: TokenWish) -> str:
        key, now = (pod.metadata.uid, wish), self._clock()
        if key not in self._tokens or now >= self._tokens[key].until:
            self._tokens[key] = _Token(await fetch_token(client, pod, wish), now + wish.seconds * _SERVED_PART)
        return self._tokens[key].text
