"""Write the CustomResourceDefinitions of the Gateway API that the local control plane serves.

Run ``python tools/generate_gateway_crds.py`` (needs Go and a module proxy) after a change of ``VERSION``. The source is
the standard channel of the Go module ``sigs.k8s.io/gateway-api``, of which the kinds of ``KINDS`` are taken in their
stored version. Left out: descriptions and versions that are served beside it. The same input gives the same bytes.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import yaml

MODULE, VERSION = "sigs.k8s.io/gateway-api", "v1.4.1"
KINDS = ("gatewayclasses", "gateways", "httproutes")
SERVED = "v1"
OUTPUT = Path(__file__).resolve().parent.parent / "src/heliostat/embedded/gateway/data/crds.json"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--output", type=Path, default=OUTPUT, help="file to write (default: the package's data)")
    output: Path = arguments.parse_args().output
    folder = download() / "config/crd/standard"
    definitions = [compact_definition(read(folder, plural)) for plural in KINDS]
    text = "[\n" + ",\n".join(to_json(definition) for definition in definitions) + "\n]\n"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    print(f"{output}: {len(text)} bytes")


def download() -> Path:
    """The folder of the module. Go checks what it fetched against the public checksums."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    with tempfile.TemporaryDirectory() as nowhere:  # outside of any module
        done = subprocess.run(command, cwd=nowhere, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{MODULE}@{VERSION} could not be fetched: {done.stdout}{done.stderr}")
    return Path(json.loads(done.stdout)["Dir"])


def read(folder: Path, plural: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / f"gateway.networking.k8s.io_{plural}.yaml").read_text("utf-8"))
    return found


def compact_definition(definition: dict[str, Any]) -> dict[str, Any]:
    """The stored version alone, without prose; the status of a definition is the server's to write."""
    spec = definition["spec"]
    versions = [version for version in spec["versions"] if version["name"] == SERVED and version["storage"]]
    assert len(versions) == 1, f"{SERVED} of {definition['metadata']['name']} is no stored version"
    schema = compact_schema(versions[0]["schema"]["openAPIV3Schema"])
    version = {**versions[0], "schema": {"openAPIV3Schema": schema}}
    kept = {"apiVersion": definition["apiVersion"], "kind": definition["kind"], "metadata": definition["metadata"]}
    return {**kept, "spec": {**spec, "versions": [version]}}


def compact_schema(schema: Any) -> Any:
    """A field may be called ``description``, so names of fields and keywords are told apart."""
    if isinstance(schema, list):
        return [compact_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            result[keyword] = {name: compact_schema(child) for name, child in value.items()}
        elif keyword in ("default", "enum"):
            result[keyword] = value
        elif keyword != "description":
            result[keyword] = compact_schema(value)
    return result


def to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True)


if __name__ == "__main__":
    main()
