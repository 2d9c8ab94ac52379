"""What holds for every explanation, whatever state Pods are in."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliostat.api.settings import Settings
from heliostat.explain.explanation import format_explanation
from heliostat.explain.raycluster.cluster import explain_cluster
from heliostat.explain.scene import OperatorPresence, Scene
from plan.worlds import World, cluster_tree, group, plan_world, stable

REASONS = st.sampled_from(
    ["", "Error", "Completed", "OOMKilled", "CrashLoopBackOff", "ImagePullBackOff", "ContainerCreating", "New{Reason}"]
)
MESSAGES = st.sampled_from(["", "not found", "secret {x}", "0/3 nodes are available", "%s\n\n{}"])
WAITING = st.fixed_dictionaries({"reason": REASONS, "message": MESSAGES})
ENDED = st.fixed_dictionaries({"reason": REASONS, "message": MESSAGES, "exitCode": st.integers(0, 255)})
STATES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just(dict[str, Any]()),
    st.just({"running": {}}),
    st.fixed_dictionaries({"waiting": WAITING}),
    st.fixed_dictionaries({"terminated": ENDED}),
)
CONDITIONS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["Ready", "PodScheduled", "Initialized"]),
            "status": st.sampled_from(["True", "False", "Unknown"]),
            "reason": REASONS,
            "message": MESSAGES,
        }
    ),
    max_size=3,
    unique_by=lambda condition: condition["type"],
)


@st.composite
def pod_states(draw: st.DrawFn) -> dict[str, Any]:
    container = {"name": "ray-worker", "ready": draw(st.booleans()), "restartCount": draw(st.integers(0, 3))}
    container |= {"state": draw(STATES), "lastState": draw(STATES)}
    phase = draw(st.sampled_from(["", "Pending", "Running", "Succeeded", "Failed", "Unknown"]))
    status = {"phase": phase, "conditions": draw(CONDITIONS), "containerStatuses": [container]}
    leaving = draw(st.sampled_from([{}, {"deletionTimestamp": "2027-01-15T08:00:00Z"}]))
    return {"metadata": leaving, "status": status}


UNTOUCHED: st.SearchStrategy[dict[str, Any]] = st.just({})
BEGINNING: World = stable(cluster_tree(group("a", replicas=2), group("b", replicas=1)))


@given(st.lists(UNTOUCHED | pod_states(), min_size=4, max_size=4), st.sampled_from(OperatorPresence))
def test_ready_means_silence_and_not_ready_always_has_a_reason(
    states: list[dict[str, Any]], operator: OperatorPresence
) -> None:
    world = BEGINNING
    for pod, state in zip(BEGINNING.pods(), states, strict=True):
        world = world.edit_pod(pod["metadata"]["name"], state)
    scene = Scene(tree=world.cluster, objects=world.objects, operator=operator, now=world.now)
    told = explain_cluster(scene, Settings())
    assert bool(told.sentences) != told.is_ready
    assert all(sentence.what and (sentence.fix or sentence.why) for sentence in told.sentences)
    assert "{logs}" not in format_explanation(told)
    assert bool(told.steps) == any(stage.actions for stage in plan_world(world).stages)
