"""What an application of Serve says of itself, as a status shows it."""

from heliostat.api.markers import JsonObject

_WELL = ("HEALTHY", "RUNNING")


def find_message(application: JsonObject) -> str:
    """That of the first deployment which is not well, or its own: of a deployment that fails, it says that alone."""
    deployments = (application.get("serveDeploymentStatuses") or {}).items()
    texts = (
        f"deployment {name} is {each.get('status')}: {each.get('message')}"
        for name, each in sorted(deployments)
        if each.get("message") and each.get("status") not in _WELL
    )
    return next(texts, "") or str(application.get("message") or "")
