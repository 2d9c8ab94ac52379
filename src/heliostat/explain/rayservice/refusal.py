"""Whether Serve has what a RayService asks for; where it has not, what it said to the operator that tried. Pure."""

import re
from collections.abc import Iterable

import msgspec

from heliostat.api.rayservice import RayService
from heliostat.desired.rayservice.serve_config import read_serve_config
from heliostat.desired.slots import Impossible
from heliostat.explain.events import Warnings
from heliostat.explain.explanation import one_line
from heliostat.kube.jsontree import JsonObject
from heliostat.plan.rayservice.answers import ServeInfo
from heliostat.plan.rayservice.reports import APPLICATIONS_NOT_UPDATED
from heliostat.plan.rayservice.serving import has_applications

_CALL = re.compile(r"^.*?: PUT \S+: (?=\d{3}: )")  # who was to be told, and the path through the API server
_SEE_ALSO = re.compile(r"\s*For further information visit \S+")  # Pydantic's, with every error


def is_followed(service: JsonObject, told: ServeInfo) -> bool:
    """Whether Serve reports the configuration of the spec."""
    config = read_serve_config(msgspec.convert(service, RayService))
    return not isinstance(config, Impossible) and has_applications(told, config)


def find_refusal(service: JsonObject, cluster: str, events: Iterable[JsonObject], since: str = "") -> str:
    """What was said to the last try on that cluster, as far as events tell; empty: nothing since that moment."""
    metadata = service["metadata"]
    warnings = Warnings(events).about("RayService", metadata["name"], metadata["uid"])
    place = f"RayCluster {metadata['namespace']}/{cluster}: "
    told = (each for each in warnings if each.reason == APPLICATIONS_NOT_UPDATED and each.moment >= since)
    found = next((each.message for each in told if place in each.message), "")
    return one_line(_SEE_ALSO.sub("", _CALL.sub("", found, count=1)))
