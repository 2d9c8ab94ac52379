"""When an object became what: the states of it that a person would ask for, and what changed between two of them.

Pure, and of any kind: what a status calls phase, state, status or reason, its conditions, the states of containers,
whether the object is being deleted. Counters and times are left out: they change without anything having happened.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from heliostat.kube.jsontree import JsonObject

_STATES: Final = ("phase", "state", "status", "reason")  # and what ends in one of them: jobDeploymentStatus
_LONGEST_MESSAGE: Final = 160
_GOING: Final = "deletion"
_CONTAINER: Final = "container "
NO_STATE: Final = "no state yet"


class Moment(Struct, frozen=True):
    at: float
    facts: dict[str, str]  # in words, by what they are about


def build_facts(tree: JsonObject) -> dict[str, str]:
    status = tree.get("status") or {}
    facts = {name: value for name, value in status.items() if isinstance(value, str) and value and _is_state(name)}
    facts |= dict(_read_conditions(status))
    facts |= dict(_read_containers(status))
    if (tree.get("metadata") or {}).get("deletionTimestamp"):
        facts[_GOING] = "asked for"
    return facts


def _is_state(name: str) -> bool:
    return name.lower().endswith(_STATES)


def _read_conditions(status: JsonObject) -> Iterator[tuple[str, str]]:
    for condition in _trees(status.get("conditions")):
        why = ": ".join(filter(None, (str(condition.get("reason") or ""), _shorten(condition.get("message")))))
        value = str(condition.get("status", ""))
        yield str(condition.get("type", "")), f"{value} ({why})" if why else value


def _read_containers(status: JsonObject) -> Iterator[tuple[str, str]]:
    for field in ("initContainerStatuses", "containerStatuses"):
        for container in _trees(status.get(field)):
            yield f"{_CONTAINER}{container.get('name', '')}", describe_container(container.get("state") or {})


def describe_container(state: JsonObject) -> str:
    for kind, details in state.items():
        code = details.get("exitCode")
        words = ", ".join(filter(None, (str(details.get("reason") or ""), f"exit code {code}" if code else "")))
        return f"{kind}: {words}" if words else kind
    return "waiting"


def _trees(value: object) -> Iterator[JsonObject]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def _shorten(message: object) -> str:
    text = " ".join(str(message or "").split())
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"


def tell_change(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What is new or different, then what is no longer said; of the first moment, everything."""
    words = [f"{name} {text}" for name, text in after.items() if before.get(name) != text]
    words += [f"{name} gone" for name in before if name not in after]
    return "; ".join(words) or NO_STATE


def tell_state(tree: JsonObject) -> str:
    """The state that a status tells first, in a word or two."""
    status = tree.get("status") or {}
    states = [value for name, value in status.items() if isinstance(value, str) and value and _is_state(name)]
    held = [str(each.get("type")) for each in _trees(status.get("conditions")) if each.get("status") == "True"]
    return ", ".join(states[:2] or held[:2]) or NO_STATE


def tell_last_life(moments: Sequence[Moment], tree: JsonObject) -> str:
    """The state that it had before it was asked to go.

    A Pod that is deleted while it runs ends as Failed, and that says nothing of its work.
    """
    living = [moment.facts for moment in moments if _GOING not in moment.facts]
    if not living or len(living) == len(moments):
        return tell_state(tree)
    facts = living[-1]
    states = [text for name, text in facts.items() if _is_state(name) and not name.startswith(_CONTAINER)]
    held = [name for name, text in facts.items() if text == "True" or text.startswith("True (")]
    told = ", ".join(states[:2] or held[:2])
    return f"{told}, then deleted" if told else "deleted"
