"""Sequences from a seed: legal and illegal requests about one or two kinds, with a watch on what happens.

The same seed and number always give the same sequence. Names come from a small pool, so that requests meet each other.
"""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from conformance.breaking import break_once
from conformance.model import Call, Json, OpenWatch, ReadWatch, Sequence, Step
from conformance.requests import (
    apply,
    at,
    create,
    delete,
    delete_all,
    get,
    json_patch,
    listing,
    merge,
    strategic,
    update,
)
from conformance.subjects import SUBJECTS, Subject

NAMES = ("a", "b", "c")
FEWEST, MOST = 6, 24
OPTIONS: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}

Make: TypeAlias = Callable[[Random, Subject, str], Step]


def generate(seed: int, number: int) -> Sequence:
    random = Random(f"{seed}/{number}")  # noqa: S311 - the point is that it repeats
    subjects = random.sample(SUBJECTS, random.choice((1, 1, 2)))
    steps: list[Step] = []
    if random.random() < 0.6:
        steps.append(_watch(random, subjects[0]))
    steps += [_create(random, random.choice(subjects), name) for name in NAMES]
    for _ in range(random.randint(FEWEST, MOST)):
        subject, name = random.choice(subjects), random.choice(NAMES)
        steps.append(random.choices(_MAKERS, _WEIGHTS)[0](random, subject, name))
    if isinstance(steps[0], OpenWatch):
        steps.append(ReadWatch(watch="w"))
    return Sequence(name=f"g{seed}-{number}", steps=tuple(steps))


def generate_many(seed: int, count: int) -> list[Sequence]:
    return [generate(seed, number) for number in range(count)]


def _watch(random: Random, subject: Subject) -> OpenWatch:
    selectors: tuple[dict[str, str], ...] = (
        {},
        {},
        {"labelSelector": "app=x"},
        {"labelSelector": "app!=x"},
        {"fieldSelector": "metadata.name=a"},
    )
    # Nothing is there yet, so "from now" and "everything first" are the same, whatever the server's revision is.
    return OpenWatch(watch="w", path=at(subject.resource), query={"watch": "true", **random.choice(selectors)})


def _write_query(random: Random) -> dict[str, str]:
    query: dict[str, str] = {}
    if random.random() < 0.08:
        query["dryRun"] = random.choice(("All", "All", "Odd"))
    if random.random() < 0.2:
        query["fieldValidation"] = random.choice(("Strict", "Warn", "Ignore", "Odd"))
    return query


def _create(random: Random, subject: Subject, name: str) -> Call:
    return create(subject.resource, subject.build(random, name), query=_write_query(random))


def _create_broken(random: Random, subject: Subject, name: str) -> Call:
    body = break_once(random, subject.build(random, name))
    if subject.resource == "services":
        _keep_name(body, name)
    return create(subject.resource, body, query=_write_query(random))


def _keep_name(body: Json, name: str) -> None:
    """K36: for a Service without a name the real server tries every address it has, and every other Service waits."""
    metadata = body.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        body["metadata"] = {"name": name, **(metadata or {})}


def _update(random: Random, subject: Subject, name: str) -> Call:
    body = subject.build(random, name)
    version = random.choice((f"${{{name}.rv}}", f"${{{name}.rv}}", f"${{{name}.rv}}", f"${{{name}.rv.first}}", None))
    if version:
        body["metadata"]["resourceVersion"] = version
    if random.random() < 0.1:
        body["metadata"]["uid"] = f"${{{name}.uid}}"
    if random.random() < 0.25:
        body = break_once(random, body)
    return update(subject.resource, name, body, query=_write_query(random))


def _merge(random: Random, subject: Subject, name: str) -> Call:
    patch = subject.change(random)
    if random.random() < 0.15:
        patch = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": f"${{{name}.rv}}"}}
    return merge(subject.resource, name, patch, query=_write_query(random))


def _strategic(random: Random, subject: Subject, name: str) -> Call:
    return strategic(subject.resource, name, subject.change(random), query=_write_query(random))


def _merge_broken(random: Random, subject: Subject, name: str) -> Call:
    return merge(subject.resource, name, break_once(random, subject.change(random)), query=_write_query(random))


def _json_patch(random: Random, subject: Subject, name: str) -> Call:
    operations: tuple[Json, ...] = (
        {"op": "add", "path": "/metadata/labels", "value": {"app": "x"}},
        {"op": "replace", "path": "/metadata/labels/app", "value": "y"},
        {"op": "remove", "path": "/metadata/finalizers"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
        {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}},
        {"op": "test", "path": "/metadata/name", "value": random.choice(NAMES)},
        {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/new"]},
        {"op": "replace", "path": "/nothing/here", "value": 1},
        {"op": "copy", "from": "/metadata/name", "path": "/metadata/generateName"},
    )
    return json_patch(
        subject.resource, name, random.sample(operations, random.choice((1, 1, 2))), query=_write_query(random)
    )


def _apply(random: Random, subject: Subject, name: str) -> Call:
    body = subject.build(random, name)
    if random.random() < 0.15:
        body = break_once(random, body)
    manager = random.choice(("first", "first", "second"))
    return apply(subject.resource, name, body, manager, force=random.random() < 0.3, query=_write_query(random))


def _status(random: Random, subject: Subject, name: str) -> Call:
    if subject.status is None:
        return merge(subject.resource, name, {"status": {"x": 1}}, "status")
    return merge(subject.resource, name, subject.status(random), "status", query=_write_query(random))


def _scale(random: Random, subject: Subject, name: str) -> Call:
    if not subject.has_scale or random.random() < 0.3:
        return get(subject.resource, name, "scale")
    return merge(subject.resource, name, {"spec": {"replicas": random.choice((0, 1, 4, -1))}}, "scale")


def _get(_random: Random, subject: Subject, name: str) -> Call:
    return get(subject.resource, name)


def _list(random: Random, subject: Subject, _name: str) -> Call:
    query: dict[str, str] = {}
    if random.random() < 0.4:
        query["labelSelector"] = random.choice(
            ("app=x", "app!=x", "app in (x,y),!tier", "tier", "app=x=y", "app in (x")
        )
    if random.random() < 0.3:
        query["fieldSelector"] = f"{random.choice((*subject.fields, 'spec.nothing'))}{random.choice(('=', '!='))}a"
    if random.random() < 0.2:
        query["limit"] = random.choice(("1", "2", "x"))
    return listing(subject.resource, query)


def _delete(random: Random, subject: Subject, name: str) -> Call:
    options: Json = None
    if random.random() < 0.6:
        options = dict(OPTIONS)
        if random.random() < 0.4:
            options["propagationPolicy"] = random.choice(("Background", "Foreground", "Orphan"))
        if random.random() < 0.3:
            options["gracePeriodSeconds"] = random.choice((0, 1, 10))
        if random.random() < 0.3:
            options["preconditions"] = random.choice(
                ({"uid": f"${{{name}.uid}}"}, {"resourceVersion": f"${{{name}.rv}}"}, {"uid": "wrong"})
            )
        if random.random() < 0.1:
            options["dryRun"] = ["All"]
    return delete(subject.resource, name, options)


def _delete_all(random: Random, subject: Subject, _name: str) -> Call:
    return delete_all(subject.resource, query=random.choice(({}, {"labelSelector": "app=x"}, {"dryRun": "All"})))


_TABLE: tuple[tuple[Make, float], ...] = (
    (_create, 6),
    (_create_broken, 5),
    (_update, 3),
    (_merge, 3),
    (_merge_broken, 1),
    (_strategic, 2),
    (_json_patch, 2),
    (_apply, 2),
    (_status, 1.5),
    (_scale, 0.7),
    (_get, 1),
    (_list, 2),
    (_delete, 2.5),
    (_delete_all, 0.3),
)
_MAKERS = [make for make, _ in _TABLE]
_WEIGHTS = [weight for _, weight in _TABLE]
