"""A TCP server that says back what it is told, and a port where nobody listens."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

_PIECE = 64 * 1024


class _Echo(BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(_PIECE):
            self.request.sendall(data)


class _EchoServer(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def echo_server() -> Iterator[int]:
    """Its port."""
    with _EchoServer(("127.0.0.1", 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def closed_port() -> Iterator[int]:
    """Bound, so that nobody else gets it, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def say(port: int, data: bytes) -> bytes:
    """What comes back over a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        sender = threading.Thread(target=_send, args=(connection, data))
        sender.start()
        heard = bytearray()
        while piece := connection.recv(_PIECE):
            heard += piece
        sender.join()
    return bytes(heard)


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
