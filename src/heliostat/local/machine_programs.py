"""Images whose program the machine itself may have: what starts it, and how people get it where it is missing.

These are the images besides Ray that KubeRay's samples and guides use. A Pod whose program is missing waits with
``ErrImagePull`` and says so at once; nothing is downloaded.
"""

from heliostat.embedded.doors.images import REDIS, Image

_DEBIAN = "on Debian: apt-get install {package}"


def programs_of_the_machine() -> tuple[Image, ...]:
    return (
        Image(
            match="redis*",
            description="the machine's redis-server",
            path=(REDIS,),
            command=("redis-server",),
            directories=("/data",),
            work_directory="/data",
            needs="redis-server",
            install=_DEBIAN.format(package="redis-server"),
        ),
        Image(
            match="nginx*",
            description="the machine's nginx",
            command=("nginx", "-g", "daemon off;"),
            needs="nginx",
            install=_DEBIAN.format(package="nginx"),
        ),
        *(_prometheus(match) for match in ("prom/prometheus*", "prometheus/prometheus*")),
        _from_its_makers("grafana/grafana*", "grafana", ("grafana", "server", "--homepath=/usr/share/grafana")),
        _from_its_makers("minio/minio*", "minio", ("minio",)),
        _from_its_makers("fluent/fluent-bit*", "fluent-bit", ("fluent-bit", "-c", "/fluent-bit/etc/fluent-bit.conf")),
    )


def _prometheus(match: str) -> Image:
    return Image(
        match=match,
        description="the machine's prometheus",
        command=("prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"),
        directories=("/prometheus",),
        work_directory="/prometheus",
        needs="prometheus",
        install=_DEBIAN.format(package="prometheus"),
    )


def _from_its_makers(match: str, program: str, command: tuple[str, ...]) -> Image:
    """Those that Debian has not."""
    return Image(
        match=match,
        description=f"the machine's {program}",
        command=command,
        needs=program,
        install=f"put the program {program} of its makers into /usr/local/bin",
    )
