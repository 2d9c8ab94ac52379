"""How a Sundial is: open, or what its plan waits for."""

from garden.plan.sundial import SUNDIAL
from heliostat.api.settings import Settings
from heliostat.explain.explanation import Explanation
from heliostat.explain.scene import Scene, look_at
from heliostat.explain.waits import tell_waits


def explain(scene: Scene, settings: Settings) -> Explanation:
    situation = look_at(SUNDIAL, scene, settings)
    if isinstance(situation, Explanation):
        return situation
    sentences = tell_waits(SUNDIAL.plan(situation).waits)
    verdict = "is shut" if sentences else "is open"
    return Explanation(title=scene.title, verdict=verdict, is_ready=not sentences, sentences=sentences)
