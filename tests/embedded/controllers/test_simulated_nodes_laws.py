"""Whatever a Pod asks for: its status never goes backwards, what is over is over, and it comes to rest."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.controllers.simulated_life import SimulatedLife
from heliostat.embedded.controllers.nodes.conduct import DURATIONS, FLAGS
from heliostat.embedded.controllers.nodes.stages import REMOVE
from heliostat.kube.timestamps import parse_timestamp

ORDER = {"Pending": 0, "Running": 1, "Succeeded": 2, "Failed": 2}


@st.composite
def lives(draw: st.DrawFn) -> SimulatedLife:
    durations = draw(st.lists(st.sampled_from(DURATIONS), unique=True))
    words = [f"{word}={draw(st.integers(0, 40))}s" for word in durations]
    words += draw(st.lists(st.sampled_from(FLAGS), unique=True))
    if draw(st.booleans()):
        words.append(f"exit-code={draw(st.integers(0, 255))}")
    spec: dict[str, Any] = {"restartPolicy": draw(st.sampled_from(["Always", "OnFailure", "Never"]))}
    if draw(st.integers(0, 4)) == 0:
        spec["activeDeadlineSeconds"] = draw(st.integers(1, 60))
    if draw(st.booleans()):
        spec["initContainers"] = [{"name": "init"}, {"name": "side", "restartPolicy": "Always"}]
    return SimulatedLife(",".join(words), **spec)


def snapshot(life: SimulatedLife) -> tuple[int, int, float]:
    """Numbers that may only grow: place in life, restarts, and the newest moment that was reported."""
    status = life.status
    restarts = max((found["restartCount"] for found in status.get("containerStatuses", [])), default=0)
    moments = [found["lastTransitionTime"] for found in status.get("conditions", [])]
    return ORDER[status["phase"]], restarts, max(map(parse_timestamp, moments), default=0.0)


@given(life=lives(), delete_after=st.none() | st.integers(0, 12))
@settings(max_examples=100)
def test_nothing_goes_backwards_and_what_is_over_is_over(life: SimulatedLife, delete_after: int | None) -> None:
    before = snapshot(life)
    final = ""
    for turn in range(30):
        if turn == delete_after:
            life.delete(grace=10)
        done = life.step()
        after = snapshot(life)
        assert all(old <= new for old, new in zip(before, after, strict=True))
        assert final in ("", life.status["phase"])
        if life.status["phase"] in ("Succeeded", "Failed"):
            final = life.status["phase"]
        if done in ("rest", REMOVE):
            break
        if isinstance(done, float):
            assert done > 0
            life.now += done
        before = after


@given(life=lives())
@settings(max_examples=100)
def test_a_pod_that_is_deleted_is_removed_within_its_grace_unless_it_is_stuck(life: SimulatedLife) -> None:
    for _ in range(3):
        done = life.step()
        life.now += done if isinstance(done, float) else 0.0
    life.delete(grace=10)
    end = life.now + 10
    while (done := life.step()) not in (REMOVE, "rest"):
        life.now += done if isinstance(done, float) else 0.0
        assert life.now <= end
    is_stuck = "stuck-terminating" in life.tree["metadata"]["annotations"]["heliostat.dev/simulate"]
    assert (done == "rest") is is_stuck


@given(life=lives())
@settings(max_examples=100)
def test_asking_again_gives_the_same_answer(life: SimulatedLife) -> None:
    """A step that is due stays due until it is done, and time only makes waits shorter."""
    for _ in range(10):
        done = life.step()
        if isinstance(done, float):
            life.now += done / 2
            assert life.step() == done / 2
            life.now += done / 2
        elif done == "rest":
            life.now += 10_000
            assert life.step() == "rest"
            return
