"""The parts of a server, for test kits that put one together in a process: handlers, store, requests and answers."""

from heliostat.embedded.access.attributes import Attributes
from heliostat.embedded.access.users import MASTERS, User
from heliostat.embedded.in_process import InProcessTransport
from heliostat.embedded.server.admission.kind_admission import AdmissionOptions
from heliostat.embedded.server.core import ApiCore
from heliostat.embedded.server.errors import RefusedError, refusal_response
from heliostat.embedded.server.front.http import Handle
from heliostat.embedded.server.messages import Answer, Chunks, Dropped, Request, Response, Stream
from heliostat.embedded.server.metadata import Authority
from heliostat.embedded.server.resources import Resource
from heliostat.embedded.storage.memory import MemoryJournal
from heliostat.embedded.storage.store import Store

__all__ = [
    "MASTERS",
    "AdmissionOptions",
    "Answer",
    "ApiCore",
    "Attributes",
    "Authority",
    "Chunks",
    "Dropped",
    "Handle",
    "InProcessTransport",
    "MemoryJournal",
    "RefusedError",
    "Request",
    "Resource",
    "Response",
    "Store",
    "Stream",
    "User",
    "refusal_response",
]
