"""The API server as one program: what it is started with, and what can go wrong at its start."""

from heliostat.embedded.access.kubeconfig import write_kubeconfig
from heliostat.embedded.access.listening import ListenError
from heliostat.embedded.history.recorder import HistoryOptions
from heliostat.embedded.node.linking.link_client import NodeLink
from heliostat.embedded.own_controllers import ControllerOptions
from heliostat.embedded.serving import EmbeddedServer, ServerOptions
from heliostat.embedded.storage.errors import StorageError

__all__ = [
    "ControllerOptions",
    "EmbeddedServer",
    "HistoryOptions",
    "ListenError",
    "NodeLink",
    "ServerOptions",
    "StorageError",
    "write_kubeconfig",
]
