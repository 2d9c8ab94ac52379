"""``heliostat operator`` as a process of a test."""

import urllib.error
import urllib.request
from pathlib import Path

from embedded.processes.running import PATIENCE, Running, wait_until

ADDRESSES = ("--metrics-addr=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")


class OperatorProcess(Running):
    """Started; its addresses are any free ones unless the arguments say otherwise."""

    def __init__(self, folder: Path, kubeconfig: Path, *arguments: str, name: str = "operator") -> None:
        options = ("--kubeconfig", str(kubeconfig), "--log-format=text", *ADDRESSES, *arguments)
        super().__init__(folder, name, "operator", *options)

    def ask(self, path: str, server: str = "health") -> tuple[int, str]:
        """A page; 0 while nobody answers."""
        try:
            with urllib.request.urlopen(self.wait_line(f"{server}: ") + path, timeout=10) as answer:  # noqa: S310
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
        metrics = self.ask("/metrics", "metrics")[1]
        return 'leader_election_master_status{name="ray-operator-leader"} 1\n' in metrics
