"""The name of a ray.io object: short enough for the names made from it, and a DNS label."""

from collections.abc import Iterator

from heliostat.kube.names import dns1035_label_problems
from heliostat.kube.problems import Problem

_PATH = ("metadata", "name")


def length_problems(kind: str, name: str, limit: int, *, rule: str, reason: str) -> Iterator[Problem]:
    size = len(name.encode("utf-8", "surrogatepass"))
    if size > limit:
        yield Problem(
            path=_PATH,
            problem=f"{kind} name should be no more than {limit} characters",
            fix=f"shorten the name by {size - limit}: names of Pods and Services are built from it",
            rule=rule,
            reason=reason,
        )


def label_problems(kind: str, name: str, *, rule: str, reason: str) -> Iterator[Problem]:
    found = dns1035_label_problems(name)
    if found:
        yield Problem(
            path=_PATH,
            problem=f"{kind} name should be a valid DNS1035 label: [{' '.join(found)}]",
            fix="use lower case letters, digits and '-', beginning with a letter and without dots",
            rule=rule,
            reason=reason,
        )
