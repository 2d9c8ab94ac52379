"""What an image brings on this machine: the entry of the table, with the environment that was built for it, if any.

An environment is a directory named after all that it is made from, so the same wish finds it again, and it is complete
or not there: see ``image_builder``. Nothing is built here.
"""

import hashlib
import platform
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from heliostat.embedded.node.imaging.images import (
    Image,
    UnknownImageError,
    build_image_environment,
    find_image,
    read_tag,
)


class BuildOrder(Struct, frozen=True):
    """An environment that some image stands for."""

    title: str  # for people, such as "Ray 2.59.0 with Python 3.11"
    place: Path
    requirements: tuple[str, ...]
    python: str  # the version, such as 3.11


def plan_build(name: str, table: Iterable[Image]) -> BuildOrder | None:
    """None: what this image stands for is not built. Raises UnknownImageError."""
    image = find_image(name, table)
    tag = read_tag(name, image.tag)
    if image.build is None or tag is None:
        return None
    python = tag.python or own_python()
    requirements = tuple(each.replace("{version}", tag.version) for each in image.build.requirements)
    wish = "\n".join((*requirements, python, platform.machine()))
    digest = hashlib.sha256(wish.encode()).hexdigest()[:8]
    place = Path(image.build.directory) / f"{tag.version}-py{python}-{digest}"
    title = " ".join(filter(None, (image.product, tag.version, "with Python", python)))
    return BuildOrder(title, place, requirements, python)


def provide_image(name: str, table: tuple[Image, ...], file: str = "images.toml") -> Image:
    """Raises UnknownImageError also for an entry that lacks something on this machine; the text says what."""
    image = find_image(name, table, file)
    order = plan_build(name, table)
    if order is not None:
        image = _dress(image, order)
    if image.needs and shutil.which(image.needs, path=build_image_environment(image)["PATH"]) is None:
        raise UnknownImageError(
            f'the image "{name}" stands for {image.description or image.match}, and this machine has no {image.needs};'
            f" {image.install or 'install it'}, or name another environment in {file}:"
            f' [[image]] match = "{image.match}" path = ["/where/{image.needs}/is"]'
        )
    return image


def _dress(image: Image, order: BuildOrder) -> Image:
    if not is_built(order):
        raise UnknownImageError(f"{order.title} has not been built yet")
    place = str(order.place)
    python = (order.place / "bin" / "python").resolve().parent.parent
    return replace(
        image,
        path=(f"{place}/bin", *image.path),
        environment={"VIRTUAL_ENV": place, **image.environment},
        visible=tuple(dict.fromkeys((place, str(python), *image.visible))),
    )


def is_built(order: BuildOrder) -> bool:
    """One whose interpreter has gone from the machine counts as not built."""
    return (order.place / "bin" / "python").exists()


def own_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
