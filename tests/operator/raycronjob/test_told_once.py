"""What a RayCronJob's state asks to be told: once for each edit, however often it is looked at."""

import msgspec

from heliostat.kube.plan import Plan, Ref, WriteStatus
from heliostat.operator.kinds import WholeObject
from heliostat.operator.raycronjob.memory import Memory
from heliostat.plan.raycronjob.reports import SUSPENDED

PLAN = Plan(events=(SUSPENDED,))


def cron(generation: int, uid: str = "u") -> WholeObject:
    tree = {"metadata": {"namespace": "ns", "name": "cron", "uid": uid, "generation": generation}}
    return msgspec.convert(tree, WholeObject)


def test_a_suspension_is_told_once_for_each_edit() -> None:
    memory = Memory()
    assert memory.leave_out_told(cron(1), PLAN).events == (SUSPENDED,)
    assert memory.leave_out_told(cron(1), PLAN).events == ()
    assert memory.leave_out_told(cron(2), PLAN).events == (SUSPENDED,)
    assert memory.leave_out_told(cron(2, uid="another"), PLAN).events == (SUSPENDED,)


def test_what_is_forgotten_is_told_again() -> None:
    memory = Memory()
    memory.leave_out_told(cron(1), PLAN)
    memory.forget(cron(1).metadata.key)
    assert memory.leave_out_told(cron(1), PLAN).events == (SUSPENDED,)


def test_what_comes_with_a_tick_is_always_told() -> None:
    memory, write = Memory(), WriteStatus(Ref("ray.io/v1", "RayCronJob", "ns", "cron"), "u", "1", {}, "TickSkipped")
    plan = Plan(events=(SUSPENDED,), status=write)
    assert memory.leave_out_told(cron(1), plan).events == memory.leave_out_told(cron(1), plan).events == (SUSPENDED,)
