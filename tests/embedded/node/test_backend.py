"""kubectl and real Pods: logs, commands, attached terminals, copied files, forwarded ports and proxied requests."""

import hashlib
import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from subprocess import Popen

import pytest

from embedded.node.machine import LiveMachine, live_machine
from embedded.node.node_world import processes_named
from embedded.processes.running import wait_until
from heliostat.embedded.access.identity import new_identity
from heliostat.embedded.node.shim.container import set_window

# Not that of the environment: it may lie in /tmp, which every container has for itself.
PYTHON = str(Path(sys.executable).resolve())

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes with all namespaces need root"),
    pytest.mark.skipif(which("kubectl") is None, reason="kubectl is not installed"),
]

MUCH = 20_000_000  # bytes
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z"
SERVE = f"cd /tmp; echo page > page; head -c {MUCH} /dev/zero > much; exec {PYTHON} -m http.server 8000"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveMachine]:
    with live_machine(tmp_path_factory.mktemp("machine")) as running:
        running.run_pod("talk", "seq 1 5; echo err >&2; printf 'no end'; sleep 1000")
        running.run_pod("again", "echo run; [ -e /v/x ] && sleep 1000; touch /v/x; exit 3", **VOLUME)
        running.run_pod("web", SERVE, ports=[{"containerPort": 8000}])
        running.output("expose", "pod", "web", "--port=80", "--target-port=8000", "--name=site")
        yield running


VOLUME = {
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    "pod": {"volumes": [{"name": "v", "emptyDir": {}}]},
}


# logs

LOGS = [
    ((), "1\n2\n3\n4\n5\nerr\n"),
    (("--tail=2",), "5\nerr\n"),
    (("--tail=0",), ""),
    (("--tail=100",), "1\n2\n3\n4\n5\nerr\n"),
    (("--limit-bytes=5",), "1\n2\n3"),
    (("--since=1h",), "1\n2\n3\n4\n5\nerr\n"),
    (("--since-time=2999-01-01T00:00:00Z",), ""),
]


@pytest.mark.parametrize(("options", "expected"), LOGS)
def test_logs_are_cut_as_asked_for(machine: LiveMachine, options: tuple[str, ...], expected: str) -> None:
    wait_until(lambda: "err" in machine.output("logs", "talk"), "the Pod says nothing")
    found = machine.output("logs", "talk", *options).splitlines()
    assert sorted(found) == sorted(expected.splitlines())  # two streams, in the order of their coming


def test_logs_have_times_when_asked_for(machine: LiveMachine) -> None:
    wait_until(lambda: "err" in machine.output("logs", "talk"), "the Pod says nothing")
    lines = machine.output("logs", "talk", "--timestamps").splitlines()
    assert len(lines) == 6
    assert all(re.fullmatch(rf"{STAMP} (\d|err)", line) for line in lines)


def test_logs_of_the_run_before_stay(machine: LiveMachine) -> None:
    pod = machine.wait_pod("again", lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] >= 1)
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3
    assert machine.output("logs", "again", "--previous") == "run\n"
    refused = machine.kubectl("logs", "talk", "--previous")
    assert b'previous terminated container "c" in pod "talk" not found' in refused.stderr


def test_logs_can_be_followed_to_the_end_of_the_container(machine: LiveMachine) -> None:
    machine.run_pod("counts", "for i in 1 2 3; do echo $i; sleep 0.3; done; printf end", pod={"restartPolicy": "Never"})
    assert machine.output("logs", "-f", "counts") == "1\n2\n3\nend"


def test_followed_logs_come_as_they_are_written_and_may_be_left(machine: LiveMachine) -> None:
    machine.run_pod("slow", "echo first; sleep 1000")
    with machine.begun("logs", "-f", "slow") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"first\n"
        assert following.poll() is None


def test_logs_before_there_are_any_are_refused_with_the_reason(machine: LiveMachine) -> None:
    machine.output("run", "no-image", "--image=nobody-provides-this")
    machine.wait_pod("no-image", lambda pod: pod["status"].get("containerStatuses"))
    refused = machine.kubectl("logs", "no-image")
    assert refused.returncode == 1
    assert b'container "no-image" in pod "no-image" is waiting to start' in refused.stderr
    machine.output("delete", "pod", "no-image", "--wait=false")


def test_long_logs_come_whole_also_when_they_were_put_away_in_between(machine: LiveMachine) -> None:
    """A log file is put away at 10 MB; the one before stays."""
    script = f"seq 1 20000 | sed 's/$/ {'.' * 800}/'; echo done"
    machine.run_pod("long", script, pod={"restartPolicy": "Never"})
    lines = machine.output("logs", "-f", "long").splitlines()
    assert lines[-1] == "done"
    numbers = [int(line.split()[0]) for line in lines[:-1]]
    assert numbers == list(range(20001 - len(numbers), 20001))
    assert machine.output("logs", "long", "--tail=3").split()[0::2] == ["19999", "20000", "done"]


# commands


def long_sleep(number: int) -> str:
    """A command that nobody else on this machine runs."""
    return f"sleep {number}0000.{os.getpid()}"


def test_a_command_runs_in_the_container(machine: LiveMachine) -> None:
    done = machine.kubectl("exec", "talk", "--", "sh", "-c", "hostname; echo err >&2; exit 4")
    assert (done.returncode, done.stdout) == (4, b"talk\n")
    assert done.stderr.startswith(b"err\n")


def test_a_command_that_is_not_there_is_told(machine: LiveMachine) -> None:
    done = machine.kubectl("exec", "talk", "--", "no-such-command")
    assert done.returncode == 1
    assert b"'no-such-command' was not found in PATH" in done.stderr


def test_a_container_that_does_not_run_takes_no_commands(machine: LiveMachine) -> None:
    machine.run_pod("over", "true", pod={"restartPolicy": "Never"})
    machine.wait_pod("over", lambda pod: pod["status"]["phase"] == "Succeeded")
    done = machine.kubectl("exec", "over", "--", "true")
    assert done.returncode == 1
    assert b'container not found ("c")' in done.stderr or b"completed pod" in done.stderr


def test_much_goes_into_a_command_and_comes_out(machine: LiveMachine) -> None:
    data = os.urandom(MUCH)
    done = machine.kubectl("exec", "-i", "talk", "--", "cat", data=data)
    assert done.returncode == 0
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


def test_input_that_nobody_reads_does_not_keep_the_command(machine: LiveMachine) -> None:
    done = machine.kubectl("exec", "-i", "talk", "--", "sh", "-c", "echo out; exit 7", data=bytes(5_000_000))
    assert (done.returncode, done.stdout) == (7, b"out\n")


def test_what_a_command_left_in_the_background_does_not_keep_the_client(machine: LiveMachine) -> None:
    words = long_sleep(1)
    assert machine.output("exec", "talk", "--", "sh", "-c", f"{words} & echo out") == "out\n"
    wait_until(lambda: len(processes_named(words)) == 1, "it was ended with its command")


@pytest.mark.parametrize("terminal", [False, True])
def test_a_client_that_goes_takes_its_command_along(machine: LiveMachine, terminal: bool) -> None:
    words = long_sleep(2 + terminal)
    script = f"(trap '' HUP; {words}) & {words} & {words}"
    options: dict[str, int] = {}
    theirs = -1
    if terminal:
        ours, theirs = os.openpty()
        options = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    flags = ("-it",) if terminal else ()
    with machine.begun("exec", *flags, "talk", "--", "sh", "-c", script, **options) as client:
        wait_until(lambda: len(processes_named(words)) == 3, "the command does not start")
        client.send_signal(signal.SIGKILL)
        wait_until(lambda: processes_named(words) == [], "the command goes on without its client")
    if terminal:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_has_the_size_of_the_clients_window(machine: LiveMachine) -> None:
    with typed(machine, "exec", "-it", "talk", "--", "sh") as terminal:
        terminal.type(until_size(33, 99, "si''zed"))  # kubectl sends what is typed and the size side by side
        terminal.expect(b"sized")
        terminal.type("echo term=$TERM\n")
        terminal.expect(b"term=xterm\r\n")
        terminal.resize(44, 111)
        terminal.type(until_size(44, 111, "re''sized"))
        terminal.expect(b"resized")
        words = long_sleep(4)
        terminal.type(f"{words}\n")
        wait_until(lambda: bool(processes_named(words)), "the command does not start")
        terminal.type("\x03")
        wait_until(lambda: not processes_named(words), "the command is not interrupted")
        terminal.type("exit 5\n")
        assert terminal.process.wait(30) == 5


def until_size(rows: int, columns: int, words: str) -> str:
    return f"until [ \"$(stty size)\" = '{rows} {columns}' ]; do :; done; echo {words}\n"


class Typed:
    def __init__(self, process: Popen[bytes], ours: int) -> None:
        self.process = process
        self._ours = ours
        self._seen = b""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def resize(self, rows: int, columns: int) -> None:
        set_window(self._ours, rows, columns)
        self.process.send_signal(signal.SIGWINCH)

    def expect(self, words: bytes) -> None:
        def is_seen() -> bool:
            with suppress(BlockingIOError):
                self._seen += os.read(self._ours, 4096)
            return words in self._seen

        wait_until(is_seen, lambda: f"{words!r} is not in {self._seen!r}", 30)


@contextmanager
def typed(machine: LiveMachine, *arguments: str) -> Iterator[Typed]:
    ours, theirs = os.openpty()
    set_window(theirs, 33, 99)
    os.set_blocking(ours, False)
    try:
        with machine.begun(*arguments, stdin=theirs, stdout=theirs, stderr=theirs) as process:
            yield Typed(process, ours)
    finally:
        os.close(ours)
        os.close(theirs)


def test_files_are_copied_in_both_directions(machine: LiveMachine, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_bytes(os.urandom(3_000_000))
    machine.output("cp", str(folder), "talk:/tmp/copied")
    machine.output("cp", "talk:/tmp/copied", str(tmp_path / "back"))
    assert (tmp_path / "back" / "deep" / "file").read_bytes() == (folder / "deep" / "file").read_bytes()


# attached


def test_attached_clients_hear_the_container_and_talk_to_it(machine: LiveMachine) -> None:
    machine.run_pod("parrot", 'while read line; do echo "said $line"; done; echo over', stdin=True, stdinOnce=True)
    done = machine.kubectl("attach", "-i", "parrot", data=b"one\ntwo\n")
    assert done.stdout == b"said one\nsaid two\nover\n"


def test_a_client_that_goes_leaves_the_container_as_it_is(machine: LiveMachine) -> None:
    machine.run_pod("clock", "while :; do echo tick; sleep 0.05; done")
    for _ in range(2):
        with machine.begun("attach", "clock") as client:
            assert client.stdout is not None
            assert client.stdout.readline() == b"tick\n"
    assert machine.wait_pod("clock", lambda _: True)["status"]["containerStatuses"][0]["restartCount"] == 0


def test_the_terminal_of_a_container_is_attached_to(machine: LiveMachine) -> None:
    machine.run_pod("shell", "exec sh", stdin=True, tty=True)
    with typed(machine, "attach", "-it", "shell") as terminal:
        terminal.type(until_size(33, 99, "he''llo"))
        terminal.expect(b"hello")


def test_much_that_a_container_says_is_heard_whole_by_who_is_attached(machine: LiveMachine) -> None:
    machine.run_pod("loud", f"read go; head -c {MUCH} /dev/zero; echo; read end", stdin=True, stdinOnce=True)
    done = machine.kubectl("attach", "-i", "loud", data=b"go\nend\n")
    assert len(done.stdout) == MUCH + 1


# ports and proxies


def test_ports_of_pods_and_services_are_forwarded(machine: LiveMachine) -> None:
    wait_until(lambda: serves(machine), "the page is not served")
    for target, port in (("pod/web", "8000"), ("service/site", "80")):
        with forwarded(machine, target, port) as address:
            assert fetch(f"{address}/page") == b"page\n"
            assert fetch(f"{address}/much") == bytes(MUCH)


def test_a_port_that_nobody_listens_on_is_told_and_disturbs_no_other(machine: LiveMachine) -> None:
    with machine.begun("port-forward", "pod/web", ":9", ":8000") as forwarding:
        assert forwarding.stdout is not None
        assert forwarding.stderr is not None
        closed, _ = address_of(forwarding.stdout.readline()), forwarding.stdout.readline()
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            fetch(closed)
        assert b"failed to connect to localhost:9 inside the Pod" in forwarding.stderr.readline()


def test_requests_are_proxied_to_pods_and_services(machine: LiveMachine) -> None:
    wait_until(lambda: serves(machine), "the page is not served")
    base = "/api/v1/namespaces/default"
    assert machine.output("get", "--raw", f"{base}/pods/web/proxy/page") == "page\n"
    assert machine.output("get", "--raw", f"{base}/pods/http:web:8000/proxy/page?a=b%20c") == "page\n"
    assert "page" in machine.output("get", "--raw", f"{base}/pods/web:8000/proxy/")
    wait_until(
        lambda: machine.kubectl("get", "--raw", f"{base}/services/site/proxy/page").stdout == b"page\n", "no site"
    )
    assert machine.kubectl("get", "--raw", f"{base}/pods/web/proxy/much").stdout == bytes(MUCH)
    missing = machine.kubectl("get", "--raw", f"{base}/pods/web/proxy/none")
    assert b"NotFound" in missing.stderr
    refused = machine.kubectl("get", "--raw", f"{base}/pods/web:9/proxy/")
    assert b"error trying to reach service: dial tcp" in refused.stderr
    assert b"connect: connection refused" in refused.stderr


def test_requests_are_proxied_over_tls_with_certificates_that_nobody_knows(machine: LiveMachine) -> None:
    server = new_identity(time.time()).server
    program = (
        "import http.server as h, ssl; s = h.HTTPServer(('', 8443), h.SimpleHTTPRequestHandler);"
        " c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain('/tmp/both');"
        " s.socket = c.wrap_socket(s.socket, server_side=True); s.serve_forever()"
    )
    pem = server.certificate + server.key.reveal()
    script = f'cd /tmp; echo safe > page; echo "$PEM" > both; exec {PYTHON} -c "{program}"'
    machine.run_pod("tls", script, env=[{"name": "PEM", "value": pem}])
    path = "/api/v1/namespaces/default/pods/https:tls:8443/proxy/page"
    wait_until(lambda: machine.kubectl("get", "--raw", path).stdout == b"safe\n", "the page is not served")


def serves(machine: LiveMachine) -> bool:
    return machine.kubectl("get", "--raw", "/api/v1/namespaces/default/pods/web/proxy/page").returncode == 0


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310
        content: bytes = answer.read()
        return content


def address_of(line: bytes) -> str:
    """From what kubectl says when it listens."""
    return f"http://{line.split()[2].decode()}"


@contextmanager
def forwarded(machine: LiveMachine, target: str, port: str) -> Iterator[str]:
    with machine.begun("port-forward", target, f":{port}", "--address=127.0.0.1") as process:
        assert process.stdout is not None
        yield address_of(process.stdout.readline())


# without a node


def test_while_the_node_is_away_it_is_told_as_such_and_pods_are_met_again_afterwards(machine: LiveMachine) -> None:
    words = long_sleep(5)
    with machine.begun("exec", "talk", "--", *words.split()) as client:
        wait_until(lambda: bool(processes_named(words)), "the command does not start")
        machine.stop_node()
        try:
            assert client.stderr is not None
            assert b"the node went away" in client.stderr.read()
            wait_until(lambda: not processes_named(words), "the command outlives its node")
            for arguments in (("logs", "talk"), ("exec", "talk", "--", "true"), ("port-forward", "talk", ":80")):
                refused = machine.kubectl(*arguments)
                assert refused.returncode == 1
                assert re.search(rb"dial tcp .*:10250: connect: connection refused", refused.stderr), refused.stderr
        finally:
            machine.start_node()
    assert machine.output("exec", "talk", "--", "echo", "back") == "back\n"
