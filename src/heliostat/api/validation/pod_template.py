"""Reading Pod templates that may be half broken.

A template is JSON as the user wrote it. After one rule has refused it the others still look at it, so every reader here
takes a missing, null or wrongly typed part as "there is none" and never fails.
"""

from collections.abc import Iterator
from typing import Any

from heliostat.api.markers import JsonObject


def pod_spec(template: JsonObject) -> JsonObject:
    return _object(template.get("spec"))


def containers(template: JsonObject) -> list[JsonObject]:
    return objects(pod_spec(template).get("containers"))


def ray_container(template: JsonObject) -> JsonObject:
    """The first container; an empty object when there is none."""
    return next(iter(containers(template)), {})


def restart_policy(template: JsonObject) -> str:
    policy = pod_spec(template).get("restartPolicy")
    return policy if isinstance(policy, str) else ""


def objects(value: Any) -> list[JsonObject]:
    """The items of a JSON list, each as an object: positions stay true, what is no object counts as empty."""
    return [_object(item) for item in value] if isinstance(value, list) else []


def find_named(items: Any, *names: str) -> Iterator[tuple[int, JsonObject]]:
    """The items of a list (env, mounts, volumes, containers) that carry one of the names, with their positions."""
    return ((index, item) for index, item in enumerate(objects(items)) if item.get("name") in names)


def env_value(env: Any, name: str) -> str | None:
    """The literal value of the first variable of that name: empty with ``valueFrom``, None without such a variable."""
    for _, variable in find_named(env, name):
        value = variable.get("value")
        return value if isinstance(value, str) else ""
    return None


def quantities_of(container: JsonObject, kind: str) -> JsonObject:
    """Its ``requests`` or ``limits``."""
    return _object(_object(container.get("resources")).get(kind))


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
