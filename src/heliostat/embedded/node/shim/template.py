"""A shim that waits to be one: it has everything loaded and forks a shim for every request.

A new interpreter costs more processor time than all the rest of a Pod's start. It holds nothing and knows nobody: it
ends when the node that started it does, and its shims do not notice.
"""

import ctypes
import gc
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from heliostat.embedded.node.shim import protocol
from heliostat.embedded.node.shim.main import main

ROOM_FOR_TITLE = 512
_ARGUMENTS_BEGIN = 45  # among the fields after the name in /proc/self/stat


def serve(requests: int) -> None:
    """``requests`` is our end of a socket; each message brings where a shim is to speak to and to complain to."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those in between
    gc.freeze()  # what is loaded stays shared
    with socket.socket(fileno=requests) as talk:
        while True:
            data, descriptors, _, _ = socket.recv_fds(talk, protocol.LARGEST, 2)
            if not data:
                return
            if not os.fork():
                talk.close()
                _become_shim(protocol.decode(data), *descriptors)
            for descriptor in descriptors:
                os.close(descriptor)


def _become_shim(wish: protocol.Message, ready: int, errors: int) -> NoReturn:
    """Never comes back."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(errors, 2)
        os.close(errors)
        _show_title(f"heliostat shim {wish['directory']} {wish['hostname']}")
        main(
            wish["directory"],
            wish["hostname"],
            ready,
            host_network=wish["host_network"],
            network=wish["network"],
            is_plain=wish["is_plain"],
        )
        code = 0
    except BaseException as error:  # noqa: BLE001  a forked child must never return into the template's loop
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(code)


def _show_title(text: str) -> None:
    """What people see in a list of processes: written over the arguments that we were started with."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin, end = (int(field) for field in fields[_ARGUMENTS_BEGIN : _ARGUMENTS_BEGIN + 2])
    room = end - begin
    title = text.encode()[: room - 1].ljust(room, b"\0")
    ctypes.memmove(begin, title, room)
