"""kubectl says the same about our server as about the real one, command by command."""

import shutil
import subprocess

import pytest

from conformance.kubectl_script import SCRIPT, Run, differing_outcomes, load_outcomes, run_script
from conformance.own import OPTIONS
from heliostat.testing import api_server_in_thread

pytestmark = pytest.mark.slow

CLIENT = "v1.32"  # the client that the outcomes were recorded with: its own words change from version to version


def _client_version() -> str:
    if shutil.which("kubectl") is None:
        return ""
    done = subprocess.run(["kubectl", "version", "--client", "-o=json"], capture_output=True, text=True, check=False)
    return done.stdout


def test_the_script_is_as_long_as_promised_and_recorded_as_it_is_now() -> None:
    commands = [step.arguments for step in SCRIPT if isinstance(step, Run)]
    recorded = [outcome.command for outcome in load_outcomes()]
    assert len(commands) >= 40
    assert set(commands) <= set(recorded)


@pytest.mark.skipif(f'"{CLIENT}.' not in _client_version(), reason=f"needs kubectl {CLIENT}, whose words are recorded")
def test_kubectl_says_the_same_as_about_the_real_server() -> None:
    with api_server_in_thread(OPTIONS) as server:
        outcomes = run_script(server.kubeconfig)
    assert not differing_outcomes(load_outcomes(), outcomes)
