"""RayCronJob: name, schedule, time zone and the RayJob inside."""

import pytest

from heliostat.api.settings import Settings
from heliostat.api.validation import advice, cronjob_problems, event_of
from ray_documents import Tree, brief, cluster_spec, cronjob, group, groups

NO_HEAD_CONTAINER: Tree = {"headGroupSpec": {"template": {"spec": {"containers": []}}}}


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"timeZone": "Asia/Taipei"},
        {"timeZone": "UTC"},
        {"schedule": "@daily"},
        {"schedule": "@every 30s", "suspend": True},
        {"jobTemplate": {"clusterSelector": {"ray.io/cluster": "c"}}},
    ],
)
def test_accepted(part: Tree) -> None:
    assert brief(cronjob_problems(cronjob(part, name="a" * 36), Settings())) == []


@pytest.mark.parametrize(
    ("part", "found", "text"),
    [
        ({"schedule": "TZ=UTC */5 * * * *"}, [("CJ-2", "spec.schedule")], "cannot use TZ or CRON_TZ in schedule, use"),
        ({"schedule": "CRON_TZ=UTC * * * * *"}, [("CJ-2", "spec.schedule")], "cannot use TZ or CRON_TZ in schedule"),
        ({"schedule": "invalid cron"}, [("CJ-3", "spec.schedule")], "invalid cron schedule: expected exactly 5 fields"),
        ({"schedule": ""}, [("CJ-3", "spec.schedule")], "invalid cron schedule: empty spec string"),
        ({"timeZone": ""}, [("CJ-4", "spec.timeZone")], "timeZone must not be empty string"),
        (
            {"timeZone": "Invalid/Zone"},
            [("CJ-5", "spec.timeZone")],
            "invalid time zone: unknown time zone Invalid/Zone",
        ),
        ({"timeZone": "../etc/passwd"}, [("CJ-5", "spec.timeZone")], "invalid time zone"),
        ({"timeZone": "/etc/passwd"}, [("CJ-5", "spec.timeZone")], "invalid time zone"),
        ({"timeZone": "Asia"}, [("CJ-5", "spec.timeZone")], "invalid time zone"),
        (
            {"timeZone": "Local"},
            [("CJ-5", "spec.timeZone")],
            "invalid time zone",
        ),  # Differs from KubeRay: time-zone-local
        ({"timeZone": "a\0b"}, [("CJ-5", "spec.timeZone")], "invalid time zone"),
        (
            {"jobTemplate": {}},
            [("RJ-S11", "spec.jobTemplate")],
            "invalid RayJob template: The RayJob spec is invalid: one of RayClusterSpec or ClusterSelector must be set",
        ),
        (
            {"jobTemplate": {"rayClusterSpec": cluster_spec(NO_HEAD_CONTAINER)}},
            [("V-S1", "spec.jobTemplate.rayClusterSpec.headGroupSpec.template.spec.containers")],
            "invalid RayJob template: The RayJob spec is invalid: headGroupSpec should have at least one container",
        ),
    ],
)
def test_refused(part: Tree, found: list[tuple[str, str]], text: str) -> None:
    problems = list(cronjob_problems(cronjob(part), Settings()))
    assert brief(problems) == found
    assert problems[0].problem.startswith(text)
    assert {problem.reason for problem in problems} == {"InvalidRayCronJobSpec"}


def test_a_name_of_37_characters_is_too_long() -> None:
    (problem,) = cronjob_problems(cronjob(name="a" * 37), Settings())
    assert (problem.rule, problem.problem) == ("CJ-1", "RayCronJob name should be no more than 36 characters")
    assert event_of(problem, "ns", "x").note == "ns/x: RayCronJob name should be no more than 36 characters"


def test_only_the_length_of_the_name_is_asked() -> None:
    assert brief(cronjob_problems(cronjob(name="1.a"), Settings())) == []


def test_the_annotations_of_the_cronjob_do_not_count_for_its_jobs() -> None:
    template = {"jobTemplate": {"rayClusterSpec": cluster_spec({"gcsFaultToleranceOptions": {}})}}
    assert brief(cronjob_problems(cronjob(template, annotations={"ray.io/ft-enabled": "true"}), Settings())) == []


def test_all_findings_come_in_kuberays_order() -> None:
    broken: Tree = {"schedule": "x", "timeZone": "x", "jobTemplate": {"suspend": True}}
    rules = " ".join(problem.rule for problem in cronjob_problems(cronjob(broken, name="a" * 40), Settings()))
    assert rules == "CJ-1 CJ-3 CJ-5 RJ-S1 RJ-S11"


def test_advice_reaches_into_the_template() -> None:
    twice = {
        "jobTemplate": {"entrypoint": "python x.py", "rayClusterSpec": cluster_spec(groups(group("a"), group("a")))}
    }
    (warning,) = advice(cronjob(twice))
    assert brief([warning]) == [
        ("webhook.unique-groups", "spec.jobTemplate.rayClusterSpec.workerGroupSpecs[1].groupName")
    ]
