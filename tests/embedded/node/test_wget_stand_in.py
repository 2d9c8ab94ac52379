"""The stand-in for wget as a program, against a server on this machine."""

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliostat.embedded.node.imaging.stand_ins import add_to_path, write_stand_ins
from heliostat.embedded.node.programs import wget


class _Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/ok")
        elif self.path.startswith("/ok"):
            self.send_response(200)
        else:
            self.send_error(503)
            return
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(f"success {self.headers.get('X-A', '')}".encode())

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Nothing to tell."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def run(*arguments: str, directory: Path | None = None) -> tuple[int, str, str]:
    """As containers run it: an interpreter with nothing but its standard library."""
    command = [sys.executable, "-I", "-S", wget.__file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd=directory)
    return done.returncode, done.stdout, done.stderr


def test_the_command_of_the_probes_that_operators_inject(address: str) -> None:
    assert run("--tries", "1", "-T", "2", "-q", "-O-", f"http://{address}/ok") == (0, "success ", "")
    assert run("-T2", "-qO-", f"{address}/moved?x=1") == (
        8,
        "",
        "wget: server returned error: HTTP/1.1 503 Service Unavailable\n",
    )
    assert run("-q", "-O", "-", "--header", "X-A: b", f"http://{address}/moved")[:2] == (0, "success b")


def test_a_refusal_of_the_server_and_no_server_at_all_end_with_wgets_own_codes(address: str) -> None:
    code, out, err = run("-q", "-O-", f"http://{address}/bad")
    assert (code, out) == (8, "")
    assert "HTTP/1.1 503" in err
    code, out, err = run("-q", "-T", "2", "-O-", "http://127.0.0.1:1/")
    assert (code, out) == (4, "")
    assert "can't fetch http://127.0.0.1:1/: [Errno 111] Connection refused" in err


def test_it_keeps_a_file_under_its_name_or_another_and_can_only_look(address: str, tmp_path: Path) -> None:
    assert run("-q", f"http://{address}/ok.txt", directory=tmp_path)[0] == 0
    assert (tmp_path / "ok.txt").read_text() == "success "
    assert run("-q", "-O", "other", f"http://{address}/ok", directory=tmp_path)[0] == 0
    assert run("--spider", f"http://{address}/ok", directory=tmp_path)[:2] == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ok.txt", "other"]


def test_what_it_does_not_know_is_said() -> None:
    code, _, err = run("--mirror", "http://x/")
    assert code == 2
    assert "unrecognized arguments: --mirror" in err
    assert run("ftp://x/")[::2] == (2, "wget: ftp://x/: only http and https are known here\n")


def test_it_is_written_as_a_program_and_found_last(tmp_path: Path) -> None:
    write_stand_ins(tmp_path / "programs")
    write_stand_ins(tmp_path / "programs")
    assert (tmp_path / "programs" / "wget").stat().st_mode & 0o111
    assert (tmp_path / "programs" / "wget.py").read_text() == Path(wget.__file__).read_text()
    assert add_to_path("/usr/bin").startswith("/usr/bin:")
