"""What becomes of jobs and applications, and when: the script. Pure.

``RECORDED`` is what the recorded flows of KubeRay were made with. ``STRICT`` is a Ray that has only what was submitted
to it: who judges whether each job was submitted exactly once needs that one.
"""

from msgspec import Struct

from heliostat.ray.answers import FAILED, PENDING, RUNNING, SUCCEEDED


class RayScript(Struct, frozen=True, kw_only=True):
    pending_seconds: float = 1.0
    ends_after: float = 8.0  # seconds since it was submitted
    failing: str = "fail"  # in the entrypoint or the id: the job fails
    endless: str = "endless"  # in the entrypoint: the job runs until it is stopped
    appears_when_asked: bool = True  # a job that nobody submitted is missing once, and then there: who submits is a Pod
    deploying_seconds: float = 3.0  # of Serve applications, after each PUT; infinite: they are stuck
    following_seconds: float = 0.0  # after a PUT that Serve has taken, for so long it runs and tells the one before
    unhealthy: str = "unhealthy"  # in the name of an application
    are_proxies_healthy: bool = True  # those of Serve
    flapping_seconds: float = 0.0  # applications are well and unhealthy in turn, so long each

    def job_status(self, id_: str, entrypoint: str, age: float) -> str:
        if age < self.pending_seconds:
            return PENDING
        if age < self.ends_after or self.endless in entrypoint:
            return RUNNING
        return FAILED if self.failing in entrypoint or self.failing in id_ else SUCCEEDED

    def application_status(self, name: str, age: float) -> tuple[str, str]:
        """Of the application, and of its deployment."""
        if age < self.deploying_seconds:
            return "DEPLOYING", "UPDATING"
        is_down = self.flapping_seconds > 0 and (age - self.deploying_seconds) // self.flapping_seconds % 2 == 1
        if is_down:
            return "UNHEALTHY", "UNHEALTHY"
        return ("UNHEALTHY", "UPDATING") if self.unhealthy in name else ("RUNNING", "HEALTHY")


RECORDED = RayScript()
STRICT = RayScript(appears_when_asked=False)
