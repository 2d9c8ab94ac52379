"""A Ray that follows a script: dashboards with jobs, Serve and health, for tests, simulations and benchmarks.

ray = ScriptedRay(now=time.time)                     # or the clock of a simulated world
ray.cluster("default/raycluster-head-svc").disturb(Answer(500, times=3))
transport = RayTransport(ray)                        # in process: behind a service proxy, or by address
async with serve_ray(ray) as port: …                 # over HTTP, all clusters on one port of this machine
ray.accepted                                         # every submission that was taken
"""

from heliostat.testing.scripted_ray.faults import Answer, Forget, Hang, RayFault, SlowBody, Stale
from heliostat.testing.scripted_ray.http import serve_ray
from heliostat.testing.scripted_ray.script import RECORDED, STRICT, RayScript
from heliostat.testing.scripted_ray.state import Accepted, ScriptedCluster, ScriptedRay
from heliostat.testing.scripted_ray.transport import RayTransport

__all__ = [
    "RECORDED",
    "STRICT",
    "Accepted",
    "Answer",
    "Forget",
    "Hang",
    "RayFault",
    "RayScript",
    "RayTransport",
    "ScriptedCluster",
    "ScriptedRay",
    "SlowBody",
    "Stale",
    "serve_ray",
]
