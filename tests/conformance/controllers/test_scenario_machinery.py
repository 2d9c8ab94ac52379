"""The suite itself: what is masked, what is followed, and that a difference is found and told."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.controllers.comparing import MISSING, compare
from conformance.controllers.known_differences import KNOWN, Known, unexpected
from conformance.controllers.masking import Masker
from conformance.controllers.model import Create, Scenario, fill, value_at
from conformance.controllers.objects import config_map, job, running
from conformance.controllers.runner import Outcome
from conformance.controllers.story import Version
from conformance.controllers.trajectories import trajectories

DOCUMENT = Path(__file__).parents[3] / "docs" / "differences-kubernetes.md"
UID = "11111111-2222-3333-4444-555555555555"
OTHER_UID = "66666666-7777-8888-9999-000000000000"
SCENARIO = Scenario(name="example", steps=(Create(job("work")), Create(config_map("work-alone"))))


def _job(**more: Any) -> Any:
    return {"metadata": {"name": "work", "uid": UID, "resourceVersion": "7"}, "spec": {}, **more}


def _pod(name: str) -> Any:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": UID, "controller": True}
    return {
        "metadata": {"name": name, "uid": OTHER_UID, "resourceVersion": "8", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "main", "image": "x", "imagePullPolicy": "Always"}]},
        "status": running("10.1.0.1"),
    }


def _masker(*trees: tuple[str, Any]) -> Masker:
    return Masker(SCENARIO, [Version(kind, tree, is_deleted=False) for kind, tree in trees])


def _outcome(**more: Any) -> Outcome:
    empty: dict[str, Any] = {"digest": "", "answers": [], "looks": {}, "events": [], "ways": {}}
    return Outcome(**{**empty, **more})


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Created pod: work-x7k2p", "Created pod: work-<x>"),
        (f"owner {UID}", "owner <uid of Job work>"),
        ("since 2026-11-16T00:12:59Z", "since <time>"),
        ('pods "work-abcde" is forbidden: no', 'pods "work-<x>" is forbidden: no'),
        ('pods "work-" is forbidden: no', 'pods "work-<x>" is forbidden: no'),
        ("ConfigMap work-alone", "ConfigMap work-alone"),
    ],
)
def test_texts_lose_what_was_drawn_and_keep_the_rest(text: str, masked: str) -> None:
    assert _masker(("Job", _job()), ("Pod", _pod("work-x7k2p"))).text(text) == masked


def test_the_index_of_a_pod_is_not_drawn() -> None:
    assert _masker(("Job", _job()), ("Pod", _pod("work-3-x7k2p"))).text("work-3-x7k2p") == "work-3-<x>"


def test_two_runs_of_one_story_are_masked_alike() -> None:
    first = _masker(("Job", _job()), ("Pod", _pod("work-x7k2p"))).object("Pod", _pod("work-x7k2p"))
    second = _masker(("Job", _job()), ("Pod", _pod("work-zzzzz"))).object("Pod", _pod("work-zzzzz"))
    assert first == second
    assert first["spec"]["containers"] == [{"name": "main", "image": "x"}]


def test_a_way_has_every_change_once() -> None:
    done = {"conditions": [{"type": "Complete", "status": "True", "reason": "CompletionsReached"}]}
    versions = [
        Version("Job", _job(), is_deleted=False),
        Version("Job", _job(status={"active": 1}), is_deleted=False),
        Version("Job", _job(status=done), is_deleted=False),
        Version("Job", _job(status=done), is_deleted=True),
    ]
    told = trajectories(Masker(SCENARIO, versions), versions)
    assert told == {"Job work": [["-", "Complete=True (CompletionsReached)", "gone"]]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status.conditions.Ready.status", "True"),
        ("spec.containers.main.image", "x"),
        ("spec.containers.0.name", "main"),
        ("spec.containers.1.name", None),
        ("status.nothing.there", None),
    ],
)
def test_paths_lead_into_lists_by_type_name_or_number(path: str, value: str | None) -> None:
    assert value_at(_pod("work-x7k2p"), path) == value


def test_marks_are_filled_in_everywhere() -> None:
    tree = {"name": "{ns}-a", "list": ["{ns}"], "number": 1, "{ns}": None}
    assert fill(tree, "{ns}", "here") == {"name": "here-a", "list": ["here"], "number": 1, "here": None}


def test_differences_are_found_in_looks_events_answers_and_ways() -> None:
    pod = {"metadata": {"name": "one"}, "status": {"phase": "Running"}}
    real = _outcome(
        looks={"end": {"Pod": [pod]}},
        events=[{"reason": "Scheduled"}],
        answers=[{"step": "create Job work", "answer": {"code": 422}}],
        ways={"Job work": [["-", "gone"]]},
    )
    ours = _outcome(looks={"end": {"Pod": [{**pod, "status": {"phase": "Pending"}}]}}, ways={"Job work": [["-"]]})
    found = {(one.where, msgspec.json.encode(one.ours).decode()) for one in compare("example", real, ours)}
    assert ("look 'end', Pod one.status.phase", '"Pending"') in found
    assert ("event", f'"{MISSING}"') in found
    assert any(where.startswith("answer to") for where, _ in found)
    assert any(where.startswith("way") for where, _ in found)
    assert compare("example", real, real) == []


def test_only_what_a_row_describes_is_called_known() -> None:
    real, ours = _outcome(events=[{"reason": "Odd"}]), _outcome(events=[{"reason": "Even"}])
    found = compare("example", real, ours)
    row = Known(id="K0", scenario="^example$", where="^event$", real="Odd")
    assert [one for one in found if row.matches(one)] == [found[0]]
    assert unexpected(found) == found


def test_every_known_difference_has_its_reason_in_the_document() -> None:
    text = DOCUMENT.read_text()
    assert [row.id for row in KNOWN if f"| {row.id} |" not in text] == []
