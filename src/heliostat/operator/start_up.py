"""What has to be true before the operator may lead: the server answers, our kinds are served, we may do our work.

Rules: whatever is missing is told once with what to do about it, stays the readiness check's answer, and is looked for
again until it is there; the process never ends because of it. Rights that only some clusters need are told, and the
work begins without them.
"""

import asyncio

import msgspec

from heliostat.api.settings import Settings
from heliostat.operator.permissions import Scope, explain_missing, observe_missing
from heliostat.operator.platform import apply_platform, list_missing, observe_platform
from heliostat.operator.rights import needs_of, rights_for
from heliostat.runtime.client import Client
from heliostat.runtime.errors import ApiError
from heliostat.runtime.logs import Log

AGAIN_SECONDS = 5.0


class StartUp:
    """``await wait(client)``; meanwhile and afterwards ``problem`` says what is in the way, for the readiness check."""

    def __init__(
        self,
        settings: Settings,
        scope: Scope,
        *,
        log: Log,
        has_election: bool = True,
        uses_proxy: bool = False,
        use_ingress_on_openshift: bool = False,
        again_seconds: float = AGAIN_SECONDS,
    ) -> None:
        self._asked_for = settings
        self._scope = scope
        self._log = log
        self._has_election = has_election
        self._uses_proxy = uses_proxy
        self._use_ingress = use_ingress_on_openshift
        self._again_seconds = again_seconds
        self._problem: str | None = "the API server has not been asked yet"

    def problem(self) -> str | None:
        """From any thread."""
        return self._problem

    async def wait(self, client: Client) -> Settings:
        """The settings that hold on this platform, once nothing is in the way."""
        told = ""
        while True:
            found = await self._look(client)
            if isinstance(found, Settings):
                self._problem = None
                return found
            self._problem = found
            if found != told:
                told = found
                self._log.error("cannot start yet", problem=found)
            await asyncio.sleep(self._again_seconds)

    async def _look(self, client: Client) -> Settings | str:
        """The settings, or what is in the way."""
        try:
            platform = await observe_platform(client)
            settings = apply_platform(self._asked_for, platform, use_ingress_on_openshift=self._use_ingress)
            absent = list_missing(settings, platform)
            return "; ".join(absent) if absent else await self._check_rights(client, settings)
        except (ApiError, msgspec.MsgspecError) as error:  # what answers may be a proxy with a page of its own
            return f"the API server cannot be asked: {error}"

    async def _check_rights(self, client: Client, settings: Settings) -> Settings | str:
        rights = rights_for(needs_of(settings, has_election=self._has_election, uses_proxy=self._uses_proxy))
        missing = await observe_missing(client, rights, self._scope)
        required = [one for one in missing if one.right.is_required]
        if required:
            return f"RBAC permissions are missing; {explain_missing(missing)}"
        for one in missing:
            self._log.warning(
                "a right is missing that some clusters need",
                right=one.right,
                needed_for=one.right.why,
                fix=explain_missing([one]),
            )
        return settings
