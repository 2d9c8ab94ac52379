"""Heliostat's own processes, started by a test and ended with it, by their pid."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

HELIOSTAT = str(Path(sys.executable).with_name("heliostat"))
# Shorter, and a machine that is busy with other things takes the lead away from who has it.
SHORT_LEASE = ("--lease-seconds=6", "--renew-seconds=4.5", "--retry-seconds=0.4", "--request-seconds=0.9")
PATIENCE = 90.0  # seconds; a machine may be busy with other things
_LOOK_SECONDS = 0.02


def wait_until(test: Callable[[], bool], what: str | Callable[[], str], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < deadline, what if isinstance(what, str) else what()
        time.sleep(_LOOK_SECONDS)


class Running:
    """A ``heliostat`` command that runs until it is told to stop."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self._out, self._err = folder / f"{name}.out", folder / f"{name}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen([HELIOSTAT, *arguments], stdout=out, stderr=err)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def cpu_seconds(self) -> float:
        """How much it has worked, however busy the machine is."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def told(self) -> str:
        """Everything that it has said."""
        return self._out.read_text() + self._err.read_text()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self.wait_ended()

    def wait_ended(self) -> int:
        return self._process.wait(PATIENCE)

    def wait_line(self, beginning: str) -> str:
        """What follows on the line that begins so."""
        wait_until(lambda: self._find(beginning) is not None or self.exit_code is not None, self.told)
        found = self._find(beginning)
        assert found is not None, self.told()
        return found

    def _find(self, beginning: str) -> str | None:
        lines = self._out.read_text().splitlines()
        return next((line.removeprefix(beginning) for line in lines if line.startswith(beginning)), None)


class ServerProcess(Running):
    """``heliostat apiserver``, ready."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0) -> None:
        self.kubeconfig = folder / "kubeconfig"
        options = ("--port", str(port), "--kubeconfig", str(self.kubeconfig), *arguments)
        super().__init__(folder, "apiserver", "apiserver", *options)
        try:
            self.address = self.wait_line("ready: ")
        except BaseException:
            self.kill()
            raise


class ControllersProcess(Running):
    """``heliostat controllers``, started."""

    def __init__(self, folder: Path, kubeconfig: Path, *arguments: str, name: str = "controllers") -> None:
        options = ("--kubeconfig", str(kubeconfig), "--log-format", "text", *arguments)
        super().__init__(folder, name, "controllers", *options)

    def ask(self, path: str) -> tuple[int, str]:
        """A page of its health server; 0 while nobody answers."""
        try:
            with urllib.request.urlopen(self.wait_line("health: ") + path, timeout=10) as answer:  # noqa: S310
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def wait_answer(self, path: str, status: int, words: str = "", seconds: float = PATIENCE) -> None:
        def answers() -> bool:
            assert self.exit_code is None, self.told()
            found, text = self.ask(path)
            return found == status and words in text

        wait_until(answers, lambda: f"{path}: {self.ask(path)}\n{self.told()}", seconds)

    def leads(self) -> bool:
        return 'leader_election_master_status{name="heliostat-controllers"} 1\n' in self.ask("/metrics")[1]
