"""Build the parts of a real Kubernetes control plane, the yardstick of the embedded one, and say where they are.

``python -m tools.kubernetes.build [PART ...]`` makes what is missing (kube-apiserver and etcd unless parts are named)
and prints the path of each. A part is looked for in KUBEBUILDER_ASSETS and in the cache (HELIOSTAT_KUBERNETES, or the
user's cache directory); etcd also in PATH, however old: what a server cannot do with it, clients have to do without.
What is nowhere is built from its Go module, which comes through the Go module proxy alone; with ``--own`` also what is
found elsewhere. ``--version`` is for another Kubernetes than the usual one, into a directory of its own. Nothing is
installed and nothing is started here.
"""

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.kubernetes.generated import DEFINITIONS, BuildError, complete_source, run_go

KUBERNETES = "1.34.4"
ETCD = "3.6.4"  # what Kubernetes 1.34 ships with
OLDEST = "1.23.17"  # the oldest Kubernetes that KubeRay's installation guide names
KWOK = "0.8.0"
NEWER_MODULES = ("golang.org/x/sys@v0.33.0", "golang.org/x/net@v0.40.0")
NEEDED = ("kube-apiserver", "etcd")
PARTS = (*NEEDED, "kube-controller-manager", "kube-scheduler", "kwok")
PACKAGES = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
OF_KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
STAGES = ("pod/fast", "node/fast", "node/heartbeat-with-lease")  # what kwok's simulated nodes do


def cache_directory(version: str = KUBERNETES) -> Path:
    named = os.environ.get("HELIOSTAT_KUBERNETES")
    if named:
        return Path(named) if version == KUBERNETES else Path(named) / f"v{version}"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "heliostat" / "kubernetes" / f"v{version}"


def find(part: str, version: str = KUBERNETES) -> Path | None:
    """Where a part is, or None."""
    if part not in OF_KUBERNETES:
        version = KUBERNETES
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    candidates = [Path(assets) / part] if assets and version == KUBERNETES else []
    candidates.append(cache_directory(version) / part)
    found = next((path for path in candidates if os.access(path, os.X_OK) and path.is_file()), None)
    installed = shutil.which("etcd") if found is None and part == "etcd" else None
    return Path(installed) if installed else found


def provide(part: str, version: str = KUBERNETES, *, is_own: bool = False) -> Path:
    """Where a part is; it is made if it is nowhere. ``version`` is that of Kubernetes' own parts."""
    if part not in PARTS:
        raise BuildError(f"there is no part {part!r}: choose from {', '.join(PARTS)}")
    found = None if is_own else find(part, version)
    if found is not None:
        return found
    builders = {"etcd": _build_etcd, "kwok": _build_kwok}
    return builders[part]() if part in builders else _build_kubernetes(part, version)


def _build_etcd() -> Path:
    modules = _modules_directory("etcd")
    run_go(["go", "mod", "edit", f"-require=go.etcd.io/etcd/server/v3@v{ETCD}"], modules)
    return _go_build("etcd", modules, "")


def _build_kubernetes(part: str, version: str) -> Path:
    """The module's staging parts are published as modules of their own, under the matching v0 version."""
    modules = _modules_directory("kubernetes", version)
    module = f"k8s.io/kubernetes@v{version}"
    described = run_go(["go", "mod", "download", "-json", module], modules)
    replaced = re.findall(r"(k8s\.io/[a-z0-9-]+) => \./staging", Path(json.loads(described)["GoMod"]).read_text())
    edits = [f"-replace={name}={name}@v0.{version.removeprefix('1.')}" for name in sorted(set(replaced))]
    run_go(["go", "mod", "edit", f"-require={module}", *edits, *_newer_modules(version)], modules)
    if not (Path(json.loads(described)["Dir"]) / DEFINITIONS).exists():
        complete_source(modules, Path(json.loads(described)["Dir"]), cache_directory(version) / "source")
    stamp = "k8s.io/component-base/version"
    major, minor, _ = version.split(".")
    flags = f"-X {stamp}.gitVersion=v{version} -X {stamp}.gitMajor={major} -X {stamp}.gitMinor={minor}"
    return _go_build(part, modules, flags, version)


def _newer_modules(version: str) -> list[str]:
    """What an old Kubernetes asks for and no Go of today compiles any more."""
    return [] if version == KUBERNETES else [f"-require={module}" for module in NEWER_MODULES]


def _build_kwok() -> Path:
    modules = _modules_directory("kwok")
    run_go(["go", "mod", "edit", f"-require=sigs.k8s.io/kwok@v{KWOK}"], modules)
    built = _go_build("kwok", modules, "")
    source = Path(run_go(["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"], modules).strip())
    files = [path for stage in STAGES for path in sorted((source / "kustomize" / "stage" / stage).glob("*.yaml"))]
    stages = [path.read_text() for path in files if path.stem != "kustomization"]
    (cache_directory() / "stages.yaml").write_text("---\n".join(stages))
    return built


def _modules_directory(name: str, version: str = KUBERNETES) -> Path:
    """An own module that requires the one to build, so that no source tree is needed."""
    directory = cache_directory(version) / "modules" / name
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / "go.mod").exists():
        run_go(["go", "mod", "init", f"heliostat/{name}"], directory)
    return directory


def _go_build(part: str, modules: Path, flags: str, version: str = KUBERNETES) -> Path:
    target = cache_directory(version) / part
    unfinished = target.with_suffix(".unfinished")
    run_go(["go", "build", "-ldflags", f"-s -w {flags}", "-o", str(unfinished), PACKAGES[part]], modules)
    unfinished.rename(target)
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the parts of a real Kubernetes control plane.")
    parser.add_argument("--version", default=KUBERNETES, help=f"of Kubernetes: {KUBERNETES}, or {OLDEST}, say")
    parser.add_argument("--own", action="store_true", help="built here, although it is installed")
    parser.add_argument("parts", nargs="*", default=list(NEEDED), metavar="PART", help=f"of {', '.join(PARTS)}")
    try:
        chosen = parser.parse_args(arguments)
        for part in chosen.parts:
            print(f"{part}: {provide(part, chosen.version, is_own=chosen.own)}", flush=True)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
