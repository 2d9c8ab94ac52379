"""How a command ended, as clients are told: a Status on the error stream, or a sentence in the older protocols.

The reasons, causes and beginnings of the sentences are the kubelet's: kubectl takes its exit code from them.
"""

from heliostat.embedded.server.nodes.node_backend import Exited, Failed, Outcome
from heliostat.kube.jsontree import JsonObject, encode_json

_DOING = {"exec": "error executing command in container", "attach": "error attaching to container"}


def build_outcome(outcome: Outcome, kind: str, *, tells_status: bool) -> bytes:
    status = _build_status(outcome, kind)
    if tells_status:
        return encode_json(status)
    return str(status.get("message", "")).encode()


def _build_status(outcome: Outcome, kind: str) -> JsonObject:
    if isinstance(outcome, Failed):
        why = f"{_DOING[kind]}: {outcome.why}"
        told = {"message": f"Internal error occurred: {why}", "reason": "InternalError"}
        return _failure({**told, "details": {"causes": [{"message": why}]}, "code": 500})
    if outcome == Exited(0):
        return {"metadata": {}, "status": "Success"}
    message = f"command terminated with non-zero exit code: exit code {outcome.code}"
    causes = [{"reason": "ExitCode", "message": str(outcome.code)}]
    return _failure({"message": message, "reason": "NonZeroExitCode", "details": {"causes": causes}})


def _failure(told: JsonObject) -> JsonObject:
    return {"metadata": {}, "status": "Failure", **told}
