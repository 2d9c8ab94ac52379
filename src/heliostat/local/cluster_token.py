"""The token that a RayCluster asks its callers for, when it asks for one that lies in a Secret.

A cluster that asks for tokens of Kubernetes accounts instead has no Secret; its callers bring their own.
"""

import base64

from heliostat.desired.auth import TOKEN_KEY
from heliostat.desired.names import check_name
from heliostat.kube.jsontree import JsonObject
from heliostat.local.session import Session


def token_secret_name(cluster: JsonObject) -> str:
    """Empty when no token of a Secret is asked for."""
    options = cluster["spec"].get("authOptions") or {}
    if options.get("mode") != "token" or options.get("enableK8sTokenAuth"):
        return ""
    return str(options.get("secretName") or check_name(cluster["metadata"]["name"]))


async def fetch_token(session: Session, cluster: JsonObject) -> str:
    """Empty when the cluster asks for none, or its Secret has none: the dashboard will say what it misses."""
    name = token_secret_name(cluster)
    if not name:
        return ""
    place = {"namespace": cluster["metadata"]["namespace"], "name": name}
    secret = await session.find({"apiVersion": "v1", "kind": "Secret", "metadata": place})
    encoded = ((secret or {}).get("data") or {}).get(TOKEN_KEY, "")
    return base64.b64decode(encoded).decode().strip()
