"""What the source of an old Kubernetes lacks: before 1.24 the definitions of its API were generated and not published.

The module is copied, the definitions are generated into the copy by Kubernetes' own generator, and the copy is built.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

DEFINITIONS = Path("pkg/generated/openapi/zz_generated.openapi.go")
_GENERATOR = "k8s.io/kube-openapi/cmd/openapi-gen"
_MODULES = (
    "k8s.io/kube-openapi@v0.0.0-20240228011516-70dd3763d340",  # of Kubernetes 1.30
    "golang.org/x/tools@v0.40.0",  # which reads the standard library of a Go of today
)
_TAG = "+k8s:openapi-gen=true"
_SERVER = "k8s.io/kubernetes/cmd/kube-apiserver"


class BuildError(Exception):
    """A part cannot be found or made; the text says what to do."""


def complete_source(modules: Path, source: Path, copy: Path) -> None:
    """``modules`` is the module that requires Kubernetes; from here on it takes the copy."""
    shutil.copytree(source, copy, dirs_exist_ok=True)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    run_go(["go", "mod", "edit", f"-replace=k8s.io/kubernetes={copy}"], modules)
    listed = run_go(["go", "list", "-e", "-deps", "-f", "{{.ImportPath}} {{.Dir}}", _SERVER], modules)
    pairs = (line.split(" ", 1) for line in listed.splitlines() if line.startswith("k8s.io/"))
    packages = [name for name, folder in pairs if _is_tagged(Path(folder))]
    header = copy / "empty-header.txt"
    header.touch()
    target = [f"--output-dir={copy / DEFINITIONS.parent}", "--output-pkg=k8s.io/kubernetes/pkg/generated/openapi"]
    files = [f"--output-file={DEFINITIONS.name}", f"--go-header-file={header}", f"--report-filename={copy / 'report'}"]
    # It knows types by the names that they were declared with.
    run_go([str(_build_generator(modules)), *target, *files, *packages], modules, GODEBUG="gotypesalias=0")


def _is_tagged(folder: Path) -> bool:
    """A whole package, or a type in it."""
    return any(_TAG in path.read_text() for path in folder.glob("*.go") if not path.name.endswith("_test.go"))


def _build_generator(modules: Path) -> Path:
    """In a module of its own beside."""
    place = modules.with_name("openapi-gen")
    place.mkdir(exist_ok=True)
    if not (place / "go.mod").exists():
        run_go(["go", "mod", "init", "heliostat/openapi-gen"], place)
    run_go(["go", "mod", "edit", *(f"-require={module}" for module in _MODULES)], place)
    run_go(["go", "build", "-o", str(place / "openapi-gen"), _GENERATOR], place)
    return place / "openapi-gen"


def run_go(command: Sequence[str], directory: Path, **variables: str) -> str:
    """Also what uses Go itself. Raises BuildError."""
    if shutil.which(command[0]) is None:
        raise BuildError(f"{command[0]} is not here: install it, or set KUBEBUILDER_ASSETS to a directory of binaries")
    flags = f"-mod=mod {os.environ.get('GOFLAGS', '')}".strip()
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": flags, **variables}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)[:500]} failed:\n{done.stderr.strip()[-2000:]}")
    return done.stdout
