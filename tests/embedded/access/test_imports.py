"""What decides starts without the libraries that sign."""

import subprocess
import sys

DECIDING = ("authenticate", "escalation", "default_roles", "listening", "rbac", "reviews", "token_requests", "tokens")


def test_deciding_modules_do_not_load_the_signing_libraries() -> None:
    imports = "; ".join(f"import heliostat.embedded.access.{name}" for name in DECIDING)
    heavy = "[name for name in ('cryptography', 'jwt', 'ssl', 'asyncio', 'dataclasses') if name in sys.modules]"
    found = subprocess.run(
        [sys.executable, "-c", f"import sys; {imports}; print({heavy})"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.stdout.strip() == "[]"
