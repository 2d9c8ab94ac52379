"""The state of a RayCronJob: whether it makes RayJobs on schedule, what keeps it from that, and its next runs."""

from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation, Sentence
from heliostat.explain.scene import Scene, look_at
from heliostat.explain.waits import is_held_up, tell_waits, verdict_of
from heliostat.plan.raycronjob.kind import GATE, GATE_OFF, RAY_CRON_JOB
from heliostat.plan.raycronjob.reasons import Hold

_ON_TIME = "is on time"


def explain_cron(scene: Scene, settings: Settings) -> Explanation:
    situation = look_at(RAY_CRON_JOB, scene, settings)
    if isinstance(situation, Explanation):
        return situation
    waits, is_served = RAY_CRON_JOB.plan(situation).waits, settings.gate(GATE)
    told = tell_waits(wait for wait in waits if wait.reason != Hold.NEXT_TICK)
    off = () if is_served else (Sentence("no operator reconciles RayCronJobs", GATE_OFF),)
    ticks = tuple(line for line in RAY_CRON_JOB.tell(situation, scene.tree) if line != GATE_OFF)
    is_ready = is_served and situation.refusal is None and not is_held_up(waits)
    return Explanation(
        title=scene.title,
        verdict=verdict_of(waits) or (_ON_TIME if is_ready else "makes no RayJobs"),
        is_ready=is_ready,
        sentences=(*off, *told),
        notes=tuple(Sentence(line) for line in ticks),
    )
