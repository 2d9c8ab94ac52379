"""Write the table of facts about Kubernetes' Go types that ``heliostat.embedded.kinds.typed.typed_fields`` reads.

Run ``python tools/generate_typed_fields.py`` (needs Go and a module proxy) after a change of ``SERVED_VERSION``. A
small Go program asks the published API types by reflection. Out comes what OpenAPI does not tell: which scalars are
pointers (an explicit zero stays), which fields are written even when empty, and how messages call their types.
The same input always gives the same bytes.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

SERVED_VERSION = "v0.34.4"
ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "src/heliostat/kube/data/kinds.json"
TABLE = ROOT / "src/heliostat/embedded/kinds/data/typed_fields.json"
MODULES = ("k8s.io/client-go", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")

PROGRAM = r"""
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	agg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type entry struct {
	Kind, Go, Struct string
	Options          []string
}

var seen = map[string]map[string]entry{}

func nameOf(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[max(0, len(parts)-2):], ".") + "." + t.Name()
}

func visit(t reflect.Type) {
	for t.Kind() == reflect.Ptr || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[nameOf(t)] != nil {
		return
	}
	fields := map[string]entry{}
	seen[nameOf(t)] = fields
	collect(t, fields)
}

func collect(t reflect.Type, fields map[string]entry) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("json"), ",")
		bare := f.Type
		if bare.Kind() == reflect.Ptr {
			bare = bare.Elem()
		}
		if parts[0] == "" && bare.Kind() == reflect.Struct && f.Anonymous {
			collect(bare, fields)
			continue
		}
		if parts[0] == "" || parts[0] == "-" || !f.IsExported() {
			continue
		}
		e := entry{Kind: f.Type.Kind().String(), Go: bare.String(), Options: parts[1:]}
		if bare.Kind() == reflect.Struct {
			e.Struct = nameOf(bare)
		} else if f.Type.Kind() == reflect.Ptr {
			e.Kind = "pointer"
		}
		fields[parts[0]] = e
		visit(f.Type)
	}
}

func main() {
	_ = apiext.AddToScheme(scheme.Scheme)
	_ = agg.AddToScheme(scheme.Scheme)
	for _, t := range scheme.Scheme.AllKnownTypes() {
		visit(t)
	}
	_ = json.NewEncoder(os.Stdout).Encode(seen)
}
"""

ZEROS: dict[str, Any] = {"string": "", "bool": False, "slice": None, "map": None, "ptr": None, "pointer": None}
ZEROS |= dict.fromkeys(("int", "int32", "int64", "float64"), 0)
# Structs that JSON shows as something else; null where an empty one is written at all.
SPECIAL = {"meta.v1.Time": None, "meta.v1.MicroTime": None, "api.resource.Quantity": "0", "util.intstr.IntOrString": 0,
           "pkg.runtime.RawExtension": None}  # fmt: skip


def ask_go() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.go").write_text(PROGRAM)
        run(folder, "mod", "init", "typedfields")
        run(folder, "get", *(f"{module}@{SERVED_VERSION}" for module in MODULES))
        run(folder, "mod", "tidy")
        types: dict[str, Any] = json.loads(run(folder, "run", "."))
        return types


def run(folder: str, *arguments: str) -> bytes:
    return subprocess.run(("go", *arguments), cwd=folder, check=True, capture_output=True).stdout


def build_table(types: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    entries = {name: build_entry(types[name], definitions[name]) for name in sorted(definitions) if name in types}
    return {name: entry for name, entry in entries.items() if entry}


def build_entry(fields: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    known = {name: field for name, field in sorted(fields.items()) if name in properties}
    entry = {
        "pointers": [name for name, field in known.items() if field["Kind"] == "pointer"],
        "always": {name: zero_of(field) for name, field in known.items() if is_always_written(field)},
        "types": {name: f["Go"] for name, f in known.items() if f["Go"] != derive_type(properties[name])},
    }
    return {key: value for key, value in entry.items() if value}


def is_always_written(field: dict[str, Any]) -> bool:
    if "omitzero" in field["Options"]:
        return False
    return field["Kind"] == "struct" or "omitempty" not in field["Options"]


def zero_of(field: dict[str, Any]) -> Any:
    if field["Kind"] == "struct":
        return SPECIAL.get(field["Struct"], {})
    return ZEROS[field["Kind"]]


def derive_type(schema: dict[str, Any]) -> str:
    """The Go type that a schema suggests; ``typed_fields`` derives the same."""
    if "$ref" in schema:
        reference: str = schema["$ref"]
        special = {"Quantity": "resource.Quantity", "IntOrString": "intstr.IntOrString"}
        return special.get(reference, ".".join(reference.split(".")[-2:]))
    kind = schema.get("type", "")
    if kind == "array":
        return "[]" + derive_type(schema["items"])
    if kind == "object":
        return "map[string]" + derive_type(schema.get("additionalProperties") or {})
    if schema.get("format") == "byte":
        return "[]uint8"
    numbers = str(schema.get("format", "int64"))
    return {"string": "string", "boolean": "bool", "integer": numbers}.get(kind, "float64")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--types", type=Path, help="what the Go program wrote before, instead of running it")
    options = parser.parse_args()
    types = json.loads(options.types.read_text()) if options.types else ask_go()
    definitions = json.loads(SCHEMAS.read_text())["definitions"]
    TABLE.write_text(json.dumps(build_table(types, definitions), separators=(",", ":")) + "\n")
    print(f"{TABLE}: {TABLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
