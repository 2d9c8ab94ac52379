"""Whether a Pod runs what the tags of its images say, as a condition of the Pod. Pure.

An entry of the table declares which version it provides and how tags name one; where both are known they are compared.
"""

from collections.abc import Iterable, Iterator

from heliostat.embedded.node.imaging.images import Image, UnknownImageError, find_image, read_tag
from heliostat.embedded.node.pods import NodePod
from heliostat.kube.image_versions import VERSION_MATCHES

_DIFFERS = "VersionDiffers"

Fact = tuple[str, str, str]  # status, reason, message


def judge_versions(pod: NodePod, table: Iterable[Image]) -> dict[str, Fact]:
    """By the condition's type. A Pod of which nothing is to be said gets none."""
    table = tuple(table)
    names = dict.fromkeys(each.image for each in (*pod.spec.containers, *pod.spec.init_containers))
    differences = [text for name in names for text in _find_difference(name, table)]
    if differences:
        return {VERSION_MATCHES: ("False", _DIFFERS, "; ".join(differences))}
    was_told = any(condition.get("type") == VERSION_MATCHES for condition in pod.status.conditions)
    return {VERSION_MATCHES: ("True", "", "")} if was_told else {}


def _find_difference(name: str, table: tuple[Image, ...]) -> Iterator[str]:
    try:
        image = find_image(name, table)
    except UnknownImageError:
        return
    tag = read_tag(name, image.tag)
    if tag is not None and image.version and image.version != tag.version:
        product = f"{image.product} " if image.product else ""
        yield (
            f'the image "{name}" says {product}{tag.version}, this machine provides {image.version};'
            " heliostat up --exact-images builds what tags say"
        )
