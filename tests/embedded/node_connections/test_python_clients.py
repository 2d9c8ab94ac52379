"""The Python clients that people use, unmodified: commands, their input and exit codes, and forwarded ports."""

import asyncio
import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

from embedded.node_connections.echoing import closed_port, echo_server
from embedded.node_connections.running import NodeServer

# The clients leave connections to the garbage collector, which is theirs to decide.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PLACE = ("p", "default")
DEADLINE = 60.0


@pytest.fixture
def core(served: NodeServer) -> Iterator[Any]:
    kubernetes = pytest.importorskip("kubernetes")
    with kubernetes.config.new_client_from_config(str(served.kubeconfig)) as api_client:
        yield kubernetes.client.CoreV1Api(api_client)
    gc.collect()


def streams(stdin: bool = False, **more: Any) -> dict[str, Any]:
    return {"stdout": True, "stderr": True, "stdin": stdin, "tty": False, **more}


class TestKubernetes:
    def test_a_command_gives_its_output(self, core: Any) -> None:
        from kubernetes.stream import stream

        said = stream(core.connect_get_namespaced_pod_exec, *PLACE, command=["echo", "häy"], **streams())
        assert said == "häy\n"

    @pytest.mark.parametrize("code", [0, 3])
    def test_a_command_gives_its_exit_code(self, core: Any, code: int) -> None:
        from kubernetes.stream import stream

        command = ["sh", "-c", f"echo out; echo err >&2; exit {code}"]
        asked = stream(
            core.connect_get_namespaced_pod_exec, *PLACE, command=command, **streams(), _preload_content=False
        )
        asked.run_forever(timeout=DEADLINE)
        assert (asked.read_stdout(), asked.read_stderr(), asked.returncode) == ("out\n", "err\n", code)

    def test_a_command_is_talked_to_until_its_input_ends(self, core: Any, served: NodeServer) -> None:
        from kubernetes.stream import stream

        asked = stream(
            core.connect_get_namespaced_pod_exec,
            *PLACE,
            command=["cat"],
            **streams(stdin=True, _preload_content=False),
        )
        asked.write_stdin("one\n")
        assert asked.readline_stdout(timeout=DEADLINE) == "one"
        asked.write_stdin("x" * 3_000_000 + "\n")
        assert len(asked.readline_stdout(timeout=DEADLINE)) == 3_000_000
        asked.close_channel(0)
        asked.run_forever(timeout=DEADLINE)
        assert asked.returncode == 0
        served.wait_idle()

    def test_closing_the_connection_ends_the_command(self, core: Any, served: NodeServer) -> None:
        from kubernetes.stream import stream

        asked = stream(
            core.connect_get_namespaced_pod_exec,
            *PLACE,
            command=["cat"],
            **streams(stdin=True, _preload_content=False),
        )
        asked.write_stdin("one\n")
        assert asked.readline_stdout(timeout=DEADLINE) == "one"
        asked.close()
        served.wait_idle()

    def test_ports_are_forwarded_over_channels(self, core: Any) -> None:
        from kubernetes.stream import portforward

        text = b"abcd" * 500_000
        with echo_server() as port, closed_port() as closed:
            forward = portforward(core.connect_get_namespaced_pod_portforward, *PLACE, ports=f"{port},{closed}")
            connection = forward.socket(port)
            connection.settimeout(DEADLINE)
            connection.sendall(text[:1000])
            heard = b""
            while len(heard) < 1000:
                heard += connection.recv(65536)
            assert heard == text[:1000]
            refused = forward.socket(closed)
            refused.settimeout(DEADLINE)
            assert refused.recv(1) == b""
            assert f"error forwarding port {closed} to pod p" in forward.error(closed)
            assert forward.error(port) is None
            connection.close()


def test_kubernetes_asyncio(served: NodeServer) -> None:
    kubernetes_asyncio = pytest.importorskip("kubernetes_asyncio")
    from kubernetes_asyncio.stream import WsApiClient

    async def use() -> None:
        await kubernetes_asyncio.config.load_kube_config(str(served.kubeconfig))
        async with WsApiClient() as api_client:
            core = kubernetes_asyncio.client.CoreV1Api(api_client)
            said = await core.connect_get_namespaced_pod_exec(*PLACE, command=["echo", "hi"], **streams())
            assert said == "hi\n"
            asked = await core.connect_get_namespaced_pod_exec(
                *PLACE, command=["sh", "-c", "read x; exit $x"], **streams(stdin=True), _preload_content=False
            )
            async with asked as socket:
                await socket.send_bytes(b"\0" + b"5\n")
                told = [message.data async for message in socket if message.data[:1] == b"\3"]
            assert WsApiClient.parse_error_data(told[-1][1:]) == 5
            assert json.loads(told[-1][1:])["reason"] == "NonZeroExitCode"

    asyncio.run(asyncio.wait_for(use(), DEADLINE))
    gc.collect()
