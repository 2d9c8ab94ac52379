"""A plan as people read it."""

from heliostat.kube.plan import Effect, Plan, Stage
from heliostat.plan.table import changed_fields, format_plan
from plan.worlds import World, apply_plan, cluster_tree, group, plan_world, stable


def test_creates_with_their_reasons() -> None:
    lines = format_plan(plan_world(World(cluster_tree(group(replicas=1))))).splitlines()
    assert lines[0].split() == ["ACTION", "OBJECT", "WHY"]
    assert lines[1].startswith("create  Service ns/demo-head-svc")
    assert lines[1].endswith("it is not there yet")
    assert lines[3].startswith("create  Pod ns/demo-g-worker-")
    assert lines[-1] == "looks again in 300 s, or as soon as something changes"


def test_nothing_to_do_says_so() -> None:
    assert format_plan(plan_world(stable(cluster_tree()))).splitlines()[0] == "nothing to do"
    assert format_plan(Plan()) == "nothing to do"


def test_a_delete_tells_its_detail_and_a_status_write_stands_last() -> None:
    world = stable(cluster_tree())
    name = world.pods(group="g")[0]["metadata"]["name"]
    text = format_plan(plan_world(world.edit_pod(name, {"status": {"phase": "Failed"}})))
    (delete,) = [line for line in text.splitlines() if line.startswith("delete")]
    assert delete.endswith("it has terminated and will not restart: the Pod has ended with phase Failed")
    actions = [line.split()[0] for line in text.splitlines() if line.startswith(("create", "delete", "status"))]
    assert actions == ["delete", "create", "status"]


def test_waits_name_what_ends_them() -> None:
    world = stable(cluster_tree()).edit_spec(suspend=True)
    world = apply_plan(world, plan_world(world))
    text = format_plan(plan_world(apply_plan(world, plan_world(world), grace=True)))
    assert "WAITS\nSuspending: 2 Pods are still there\n  until all Pods are gone" in text


def test_events_are_told() -> None:
    text = format_plan(plan_world(stable(cluster_tree()).edit_group(minReplicas=5, maxReplicas=1)))
    assert "Warning  InvalidRayClusterSpec  The RayCluster spec is invalid ns/demo: " in text


def test_a_patch_names_the_fields_it_changes() -> None:
    changes = {"metadata": {"labels": {"ray.io/cluster": "x"}, "finalizers": None}, "spec": {"minMember": 3, "tls": {}}}
    assert changed_fields(changes) == [
        "metadata.labels[ray.io/cluster]", "metadata.finalizers", "spec.minMember", "spec.tls",
    ]  # fmt: skip


def test_a_text_of_many_lines_is_one_row() -> None:
    effect = Effect("submit a\njob", {}, "key", "because\nof this")
    assert format_plan(Plan(stages=(Stage("s", (effect,)),))).splitlines()[1] == "call    submit a job  because of this"
