"""The images that come with Heliostat: what well-known names stand for on a machine without containers.

``rayproject/ray`` is the Python environment that Heliostat itself runs in, with the Ray that is installed there; asked
to be exact, it is an environment with the Ray that the tag names, built when it is first needed.
"""

import os
import sys
from importlib import metadata
from pathlib import Path

from msgspec.structs import replace

import heliostat
from heliostat.embedded.doors.images import Build, Image, ImageTableError, read_table
from heliostat.local.machine_programs import programs_of_the_machine

_OF_THE_HOST = ("busybox", "alpine", "debian", "ubuntu", "curlimages/curl", "bitnami/kubectl")
_SUBMITTER = "/submitter"  # where KubeRay's image has it
_RAY = "rayproject/ray*"
_RAY_TAG = r"(?P<version>\d+\.\d+\.\d+(?:rc\d+)?)(?:-py(?P<python>\d{2,3}))?(?:-.*)?"  # such as 2.52.0-py311-gpu
_RAY_REQUIREMENTS = ("ray[default,serve]=={version}",)  # as heliostat[ray] has it

_RAY_HOME = "/home/ray"  # what samples, and programs that somebody has for these images, count on
_INSTALL_RAY = "pip install 'heliostat[ray]', start with --exact-images"


def load_images(users: Path | None, *, is_exact: bool = False, cache: Path | None = None) -> tuple[Image, ...]:
    """The user's entries first: of the file that is named, or of the usual one if there is one.

    Raises ImageTableError with the place of the mistake.
    """
    usual = usual_file()
    own = _read_users(users) if users is not None else _read_users(usual) if usual.exists() else ()
    exact = (*installed_rays(), exact_rays()) if is_exact else ()
    return tuple(_settle(image, cache or default_cache()) for image in (*own, *exact, *shipped_images()))


def _read_users(path: Path) -> tuple[Image, ...]:
    try:
        return read_table(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ImageTableError(f"{path}: {why}; --images names a file with [[image]] entries") from None


def shipped_images() -> tuple[Image, ...]:
    environment = this_environment("python*")
    return (
        installed_ray(_RAY),
        replace(environment, command=("python3",)),
        lightweight_submitter(),
        *(
            Image(match=f"{name}*", description="the root of this machine", command=("/bin/sh",))
            for name in _OF_THE_HOST
        ),
        *programs_of_the_machine(),
    )


def lightweight_submitter() -> Image:
    """KubeRay's image is one program at the root; ours of that name does the same (``heliostat.ray.submitter``)."""
    start = (str(Path(sys.prefix) / "bin" / "python"), "-I", "-m", "heliostat.ray.submitter")
    return replace(
        this_environment("kuberay/submitter*"),
        description="Heliostat's own submitter of RayJobs",
        programs={_SUBMITTER: start},
        command=(_SUBMITTER,),
    )


def installed_ray(match: str) -> Image:
    image = this_environment(match)
    return replace(
        image,
        environment={**image.environment, "HOME": _RAY_HOME},
        directories=(_RAY_HOME,),
        work_directory=_RAY_HOME,
        product="Ray",
        version=_ray_version(),
        tag=_RAY_TAG,
        needs="ray",
        install=_INSTALL_RAY,
    )


def installed_rays() -> tuple[Image, ...]:
    """The tags that ask for just what is installed here: nothing has to be built for them."""
    version, python = _ray_version(), f"py{sys.version_info.major}{sys.version_info.minor}"
    tags = (version, f"{version}-cpu", f"{version}-gpu", f"{version}-{python}*") if version else ()
    return tuple(installed_ray(f"rayproject/ray:{tag}") for tag in tags)


def exact_rays() -> Image:
    return Image(
        match=_RAY,
        description="an environment with the Ray of the tag",
        product="Ray",
        tag=_RAY_TAG,
        build=Build(requirements=_RAY_REQUIREMENTS),
        environment={"PYTHONUNBUFFERED": "1", "HOME": _RAY_HOME},
        directories=(_RAY_HOME,),
        work_directory=_RAY_HOME,
    )


def this_environment(match: str) -> Image:
    """The Python environment of this process, wherever it lies."""
    places = (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent, _source_root())
    return Image(
        match=match,
        description="the Python environment that Heliostat runs in",
        path=(str(Path(sys.prefix) / "bin"),),
        environment={"VIRTUAL_ENV": sys.prefix, "PYTHONUNBUFFERED": "1"},
        work_directory="/root",
        visible=tuple(dict.fromkeys(map(str, places))),
    )


def usual_file() -> Path:
    """Where a user's entries are looked for when no file is named."""
    named = os.environ.get("XDG_CONFIG_HOME")
    return (Path(named) if named else Path.home() / ".config") / "heliostat" / "images.toml"


def default_cache() -> Path:
    """Where built environments are kept, for every state directory of this user."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "heliostat" / "images"


def _settle(image: Image, cache: Path) -> Image:
    if image.build is None or image.build.directory:
        return image
    return replace(image, build=replace(image.build, directory=str(cache)))


def _ray_version() -> str:
    """Empty: there is none in this environment."""
    try:
        return metadata.version("ray")
    except metadata.PackageNotFoundError:
        return ""


def _source_root() -> Path:
    """Where the heliostat package is imported from: in a development tree that is not the environment."""
    return Path(heliostat.__file__).parent.parent
