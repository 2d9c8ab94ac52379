"""Who among long plans has a seat, who waits for one, and who comes in next."""

from heliostat.kube.objects import Key
from heliostat.kube.plan import Ref
from heliostat.runtime.long_plans import LongPlans
from heliostat.runtime.reconciler import Subject


def key(name: str) -> Key:
    return Key("default", name)


def subject(name: str, uid: str = "", generation: int = 1) -> Subject:
    return Subject(Ref("v1", "ConfigMap", "default", name), uid or name, generation=generation)


def outside(plans: LongPlans, *names: str) -> None:
    for name in names:
        plans.wait_outside(key(name), subject(name))


def test_there_are_so_many_seats() -> None:
    plans = LongPlans(2)
    assert [plans.take_seat(key(name)) for name in "abc"] == [True, True, False]
    assert [plans.has_seat(key(name)) for name in "abc"] == [True, True, False]


def test_who_waits_outside_comes_in_by_the_order_of_coming_one_for_each_seat() -> None:
    plans = LongPlans(1)
    plans.take_seat(key("a"))
    outside(plans, "b", "c", "d")
    assert list(plans.leave(key("x"))) == []
    assert list(plans.leave(key("a"))) == [key("b")]
    assert list(plans.leave(key("x"))) == [], "the free seat is kept for b"
    assert not plans.take_seat(key("x"))
    assert plans.take_seat(key("b"))
    assert list(plans.leave(key("b"))) == [key("c")]


def test_a_guest_that_needs_no_seat_any_more_leaves_it_to_the_next() -> None:
    plans = LongPlans(1)
    plans.take_seat(key("a"))
    outside(plans, "b", "c")
    assert list(plans.leave(key("a"))) == [key("b")]
    assert list(plans.leave(key("b"))) == [key("c")]


def test_who_waits_is_not_looked_at_unless_its_object_became_another() -> None:
    plans = LongPlans(0)
    outside(plans, "a", "b", "c")
    assert plans.is_outside(key("a"), subject("a"))
    assert not plans.is_outside(key("b"), subject("b", generation=2))
    assert not plans.is_outside(key("c"), subject("c", uid="another"))
    assert not plans.is_outside(key("d"), subject("d"))
    assert not plans.is_outside(key("b"), subject("b")), "it does not wait any more"
