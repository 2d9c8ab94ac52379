"""The shim's side of the talk with the node: requests come in, answers and changes of containers go out."""

import contextlib
import os
import socket
from pathlib import Path
from typing import Any

from heliostat.embedded.node.shim import protocol
from heliostat.embedded.node.shim.commands import Commands, Wanted
from heliostat.embedded.node.shim.container import Streams
from heliostat.embedded.node.shim.containers import Containers
from heliostat.embedded.node.shim.journal import Journal, Run
from heliostat.embedded.node.shim.loop import Loop
from heliostat.embedded.node.shim.protocol import Message

_MOST_DESCRIPTORS = 8


class Service:
    def __init__(self, loop: Loop, directory: Path) -> None:
        self._loop = loop
        self._journal = Journal(directory / protocol.JOURNAL)
        self._containers = Containers(loop, self._tell)
        self._commands = Commands(loop)
        self._listeners: set[socket.socket] = set()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        os.chdir(directory)  # a socket's path may not be long, so it is named from within
        self._socket.bind(protocol.SOCKET)
        os.chdir("/")
        self._socket.listen(16)
        loop.hear(self._socket.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return  # whoever it was has gone, or comes again: the Pod does not end of it
        self._loop.hear(connection.fileno(), lambda: self._receive(connection))

    def _receive(self, connection: socket.socket) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(connection, protocol.LARGEST, _MOST_DESCRIPTORS)
        except OSError:
            data, descriptors = b"", []
        if not data:
            self._drop(connection)
            return
        message = protocol.decode(data)
        try:
            self._do(connection, message, descriptors)
        except Exception as error:  # noqa: BLE001  a request that fails must not end the Pod
            self._answer(connection, message, error=str(error) or type(error).__name__)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _do(self, connection: socket.socket, message: Message, descriptors: list[int]) -> None:
        match message["do"]:
            case protocol.EXECUTE:
                self._execute(connection, message, descriptors)
                return  # answered when the command is over
            case protocol.START:
                order = protocol.read_order(Path(message["order"]))
                self._containers.start(order, lambda: self._answer(connection, message))
                return  # answered when it is up
            case protocol.SIGNAL:
                self._containers.signal(message["id"], message["number"])
            case protocol.ATTACH:
                self._containers.attach(message["id"], dict(zip(message["streams"], descriptors, strict=True)))
            case protocol.RESIZE:
                self._containers.resize(message["id"], message["rows"], message["columns"])
            case protocol.FIRST_PROCESSES:
                self._answer(connection, message, processes=self._containers.list_first_processes())
                return
            case protocol.CANCEL:
                self._commands.end((connection, message["execution"]))
            case protocol.LISTEN:
                self._listeners.add(connection)
            case protocol.STOP:
                self._loop.stop()
        self._answer(connection, message)

    def _execute(self, connection: socket.socket, message: Message, descriptors: list[int]) -> None:
        running = self._containers.find(message["id"])
        order = running.order._replace(
            argv=tuple(message["argv"]),
            has_terminal=message["has_terminal"],
            environment=running.order.environment | message["environment"],
        )
        self._commands.begin(
            (connection, message["request"]),
            order,
            Wanted(running.init, Streams(*descriptors[:3]), message.get("seconds", 0.0)),
            lambda outcome: self._answer(connection, message, **outcome),
        )

    def _tell(self, run: Run) -> None:
        message = {"run": self._journal.note(run)}
        for listener in tuple(self._listeners):
            self._send(listener, message)

    def _answer(self, connection: socket.socket, message: Message, **content: Any) -> None:
        self._send(connection, {"answers": message["request"], **content})

    def _send(self, connection: socket.socket, message: Message) -> None:
        try:
            connection.send(protocol.encode(message), socket.MSG_NOSIGNAL)
        except OSError:
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        """Commands end with who asked for them: their streams lead nowhere any more."""
        self._listeners.discard(connection)
        if connection.fileno() >= 0:
            self._commands.end_all_of(connection)
            with contextlib.suppress(KeyError):
                self._loop.unhear(connection.fileno())
            connection.close()
