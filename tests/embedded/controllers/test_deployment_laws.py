"""Laws of rollouts, under Pods that start, break and die as they like."""

from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.workloads import DEPLOYMENT_REF, Workloads, deployment, key_of, template
from heliostat.embedded.controllers.deployments.bounds import bounds_of
from heliostat.embedded.controllers.views.deployments import DEPLOYMENTS, Deployment
from heliostat.kube.objects import Key
from heliostat.kube.plan import ref_of

COUNT_OR_SHARE = st.one_of(st.integers(0, 4), st.integers(0, 100).map(lambda share: f"{share}%"))
FATES = st.sampled_from(["run", "run", "break", "kill", "bury", "none"])
POD_STEPS = st.lists(st.tuples(FATES, st.integers(0, 5)), max_size=14)
STRATEGIES = st.sampled_from([(1, 0), ("25%", "25%"), (0, 1), None])
SPEC_STEPS = st.lists(
    st.tuples(st.sampled_from(["template", "scale", "pause", "resume", "pods"]), st.integers(0, 5)), max_size=8
)


def rolling(surge: int | str, unavailable: int | str) -> dict[str, object]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def look_at(world: Workloads) -> Deployment:
    found = world.caches.of(DEPLOYMENTS).get(Key("ns", "web"))
    assert found is not None
    return found


def available(world: Workloads) -> int:
    """As the ReplicaSets count them when they have just looked."""
    for tree in world.of("ReplicaSet"):
        world.reconcile(world.replica_sets, key_of(tree))
    return sum(tree["status"].get("availableReplicas", 0) for tree in world.of("ReplicaSet"))


def happen(world: Workloads, what: str, choice: int) -> None:
    pods = world.of("Pod")
    if what == "bury":
        world.bury()
    if not pods:
        return
    tree = pods[choice % len(pods)]
    if what == "run" and not tree["metadata"].get("deletionTimestamp"):
        world.run(tree)
    elif what == "break":
        world.break_down(tree)
    elif what == "kill" and ref_of(tree) in world.trees:
        world.remove(ref_of(tree))


def heal(world: Workloads) -> None:
    """What is broken works again: a rollout rightly waits for it for ever."""
    for tree in world.of("Pod"):
        if not tree["metadata"].get("deletionTimestamp"):
            world.run(tree)


@settings(max_examples=60, deadline=None)
@given(replicas=st.integers(1, 6), surge=COUNT_OR_SHARE, unavailable=COUNT_OR_SHARE, steps=POD_STEPS)
def test_a_rolling_update_keeps_its_bounds(
    replicas: int, surge: int | str, unavailable: int | str, steps: list[tuple[str, int]]
) -> None:
    """Never more Pods wanted than the surge allows; never fewer available than allowed by what it takes away itself."""
    world = Workloads()
    world.add(deployment(replicas, strategy=rolling(surge, unavailable)))
    world.live()
    world.change(DEPLOYMENT_REF, spec={"template": template("b")})
    bounds = bounds_of(look_at(world))
    for what, choice in steps:
        world.now += 1
        happen(world, what, choice)
        before = available(world)
        world.reconcile(world.deployments, Key("ns", "web"))
        after = available(world)
        assert after >= min(before, bounds.least_available)
        assert sum(tree["spec"]["replicas"] for tree in world.of("ReplicaSet")) <= bounds.most
    heal(world)
    world.live()
    assert [tree["spec"]["replicas"] for tree in world.of("ReplicaSet") if tree["spec"]["replicas"]] == [replicas]


@settings(max_examples=50, deadline=None)
@given(bounds=STRATEGIES, steps=SPEC_STEPS)
def test_whatever_is_asked_for_is_reached_in_the_end(
    bounds: tuple[int | str, int | str] | None, steps: list[tuple[str, int]]
) -> None:
    world = Workloads()
    world.add(deployment(3, strategy=rolling(*bounds) if bounds else {"type": "Recreate"}))
    for what, choice in steps:
        world.now += 1
        _ask(world, what, choice)
        for _ in range(choice):
            list(world.passes())
    world.change(DEPLOYMENT_REF, spec={"paused": False})
    world.live()
    found = look_at(world)
    status = found.status
    wanted = found.spec.replicas
    assert (status.replicas, status.updated_replicas, status.available_replicas) == (wanted, wanted, wanted)
    assert status.observed_generation == found.metadata.generation
    assert all(plan.is_empty for plan in world.passes())


def _ask(world: Workloads, what: str, choice: int) -> None:
    if what == "template":
        world.change(DEPLOYMENT_REF, spec={"template": template("abcdef"[choice])})
    elif what == "scale":
        world.change(DEPLOYMENT_REF, spec={"replicas": choice})
    elif what == "pods":
        world.run_all()
    else:
        world.change(DEPLOYMENT_REF, spec={"paused": what == "pause"})


@settings(max_examples=40, deadline=None)
@given(steps=POD_STEPS)
def test_recreate_never_mixes_old_and_new(steps: list[tuple[str, int]]) -> None:
    world = Workloads()
    world.add(deployment(3, strategy={"type": "Recreate"}))
    world.live()
    world.change(DEPLOYMENT_REF, spec={"template": template("b")})
    for what, choice in steps:
        world.now += 1
        happen(world, what, choice)
        list(world.passes())
        alive = [tree for tree in world.of("Pod") if tree["status"]["phase"] not in ("Failed", "Succeeded")]
        assert len({tree["spec"]["containers"][0]["image"] for tree in alive}) <= 1
