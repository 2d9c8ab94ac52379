"""A package whose build begins, says so, and goes on only when it may: time enough to do something in the middle."""

from pathlib import Path

from embedded.processes.running import wait_until
from heliostat.embedded.node.imaging.images import Build, Image

_PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
_BACKEND = """\
import time, zipfile
from pathlib import Path

HERE = Path({here!r})

def build_wheel(directory, config_settings=None, metadata_directory=None):
    (HERE / "begun").touch()
    while not (HERE / "may-go-on").exists():
        time.sleep(0.02)
    info = "slow-1.0.0.dist-info"
    with zipfile.ZipFile(Path(directory) / "slow-1.0.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("slow.py", "")
        wheel.writestr(f"{{info}}/METADATA", "Metadata-Version: 2.1\\nName: slow\\nVersion: 1.0.0\\n")
        wheel.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{{info}}/RECORD", "")
    return "slow-1.0.0-py3-none-any.whl"
"""


class SlowPackage:
    def __init__(self, directory: Path) -> None:
        self.directory = directory / "slow"
        self.directory.mkdir()
        (self.directory / "pyproject.toml").write_text(_PROJECT)
        (self.directory / "backend.py").write_text(_BACKEND.format(here=str(self.directory)))
        build = Build(requirements=(f"slow @ {self.directory.as_uri()}",), directory=str(directory / "environments"))
        self.image = Image(match="team/slow*", tag=r"(?P<version>.+)", build=build)

    def wait_until_begun(self) -> None:
        wait_until((self.directory / "begun").exists, "the build does not begin")

    @property
    def has_begun(self) -> bool:
        return (self.directory / "begun").exists()

    def go_on(self) -> None:
        (self.directory / "may-go-on").touch()
