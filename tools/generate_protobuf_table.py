"""Write the table of protobuf fields that ``heliostat.kube.protobuf`` decodes the bodies of typed clients with.

Run ``python tools/generate_protobuf_table.py`` (needs Go and a module proxy) after a change of ``SERVED_VERSION``. A
small Go program asks the published API types by reflection, because the ``.proto`` files beside them tell neither JSON
names nor which fields are pointers; what it found is then held against those files, number by number.
The same input always gives the same bytes.
"""

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SERVED_VERSION = "v0.34.4"
DATA = Path(__file__).resolve().parent.parent / "src/heliostat/kube/data"
MODULES = ("k8s.io/client-go", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")
PROTO_MODULES = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")

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

type field struct {
	Tag, Name, Type, Shape string
	Pointer                bool
	Options                []string
}

var messages = map[string][]field{}

func nameOf(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[max(0, len(parts)-2):], ".") + "." + t.Name()
}

func isMessage(t reflect.Type) bool {
	_, found := reflect.PointerTo(t).MethodByName("ProtoMessage")
	return found
}

func typeOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Struct:
		visit(t)
		return nameOf(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "bytes"
	case t.Kind() == reflect.Slice && isMessage(t) && t.Elem().Kind() == reflect.String:
		return "strings"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		panic("no rule for " + t.String())
	}
	return t.Kind().String()
}

func describe(f *field, t reflect.Type) {
	if f.Pointer = t.Kind() == reflect.Ptr; f.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		f.Shape, t = "map", t.Elem()
	case t.Kind() == reflect.Slice && !isMessage(t) && t.Elem().Kind() != reflect.Uint8:
		f.Shape, t = "list", t.Elem()
	}
	f.Type = typeOf(t)
}

func visit(t reflect.Type) {
	if _, known := messages[nameOf(t)]; known {
		return
	}
	messages[nameOf(t)] = nil
	fields := []field{}
	for i := 0; i < t.NumField(); i++ {
		tag := t.Field(i).Tag.Get("protobuf")
		if tag == "" || tag == "-" {
			continue
		}
		parts := strings.Split(t.Field(i).Tag.Get("json"), ",")
		f := field{Tag: tag, Name: parts[0], Options: parts[1:]}
		describe(&f, t.Field(i).Type)
		fields = append(fields, f)
	}
	messages[nameOf(t)] = fields
}

func main() {
	_ = apiext.AddToScheme(scheme.Scheme)
	_ = agg.AddToScheme(scheme.Scheme)
	kinds := map[string]string{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != "__internal" {
			visit(t)
			kinds[gvk.GroupVersion().String()+" "+gvk.Kind] = nameOf(t)
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"kinds": kinds, "messages": messages})
}
"""

SHORT_NAMES = {
    "api.resource.Quantity": "Quantity",
    "util.intstr.IntOrString": "IntOrString",
    "pkg.runtime.RawExtension": "runtime.RawExtension",
}
# Messages that JSON shows as something else than an object of their fields; the decoder knows each by name.
SPECIAL = frozenset(
    """
    Quantity IntOrString runtime.RawExtension meta.v1.Time meta.v1.MicroTime meta.v1.FieldsV1 apiextensions.v1.JSON
    apiextensions.v1.JSONSchemaPropsOrArray apiextensions.v1.JSONSchemaPropsOrBool
    apiextensions.v1.JSONSchemaPropsOrStringArray
    """.split()  # noqa: SIM905  one word per line reads worse
)
SCALARS = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "float64": "double"}
SCALARS |= {"bytes": "bytes", "strings": "strings"}
ANY_VERSION = "meta.v1.DeleteOptions"  # a kind of every group and version
PROTO_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
PROTO_FIELD = re.compile(r"^  (?:optional |repeated |)(?:map<[^>]+>|[\w.]+) (\w+) = (\d+);", re.MULTILINE)


def ask_go() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "main.go").write_text(PROGRAM)
        run_go(folder, "mod", "init", "protobuftable")
        run_go(folder, "get", *(f"{module}@{SERVED_VERSION}" for module in MODULES))
        run_go(folder, "mod", "tidy")
        answer: dict[str, Any] = json.loads(run_go(folder, "run", "."))
        answer["proto"] = dict(read_proto_files(folder))
        return answer


def run_go(folder: str, *arguments: str) -> bytes:
    return subprocess.run(("go", *arguments), cwd=folder, check=True, capture_output=True).stdout


def read_proto_files(folder: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Each message of the published files, with the numbers of its fields."""
    for module in PROTO_MODULES:
        found = json.loads(run_go(folder, "mod", "download", "-json", f"{module}@{SERVED_VERSION}"))
        for path in sorted(Path(found["Dir"]).rglob("generated.proto")):
            package = ".".join(path.parts[-3:-1])
            for name, body in PROTO_MESSAGE.findall(path.read_text(encoding="utf-8")):
                yield f"{package}.{name}", {field: int(number) for field, number in PROTO_FIELD.findall(body)}


def build_table(answer: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    kinds = {
        kind: message
        for kind, message in sorted(answer["kinds"].items())
        if message in definitions and not message.startswith("meta.v1.") and not kind.endswith("List")
    }
    used = find_used((*kinds.values(), ANY_VERSION), answer["messages"])
    messages = {short_name(name): build_message(answer["messages"][name]) for name in used}
    return {"version": SERVED_VERSION, "kinds": kinds, "messages": dict(sorted(messages.items()))}


def find_used(roots: tuple[str, ...], messages: dict[str, Any]) -> list[str]:
    """The messages that a body of some kind can hold, without the special ones."""
    used: dict[str, None] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in used and name in messages:
            used[name] = None
            waiting += [field["Type"] for field in messages[name]]
    return [name for name in used if short_name(name) not in SPECIAL]


def short_name(name: str) -> str:
    return SHORT_NAMES.get(name, name)


def build_message(fields: list[dict[str, Any]]) -> list[list[Any]]:
    return sorted((build_row(field) for field in fields), key=lambda row: int(row[0]))


def build_row(field: dict[str, Any]) -> list[Any]:
    """Number, JSON name ("" for the fields of an inlined message), type, and the shape if it is not ``one``."""
    name = "" if "inline" in field["Options"] else field["Name"]
    kind = SCALARS.get(field["Type"]) or short_name(field["Type"])
    assert "." in kind or kind in ("Quantity", "IntOrString", *SCALARS.values()), f"no rule for the type {kind}"
    row = [number_of(field), name, kind]
    shape = find_shape(field)
    return row if shape == "one" else [*row, shape]


def find_shape(field: dict[str, Any]) -> str:
    """A zero that is no pointer's counts as absence (``optional``) where Go leaves it out of JSON: never an object."""
    if field["Shape"]:
        return str(field["Shape"])
    leaves_out_zero = field["Type"] in SCALARS and "omitempty" in field["Options"]
    return "optional" if (leaves_out_zero or "omitzero" in field["Options"]) and not field["Pointer"] else "one"


def number_of(field: dict[str, Any]) -> int:
    return int(field["Tag"].split(",")[1])


def check_numbers(answer: dict[str, Any], table: dict[str, Any]) -> None:
    """The types and the published files must agree on every message of the table."""
    for name in table["messages"]:
        found = {number_of(field) for field in answer["messages"][name]}
        published = set(answer["proto"][name].values())
        assert found == published, f"{name}: fields {found} by its type, {published} by its .proto file"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answer", type=Path, help="what the Go program told before, instead of running it")
    parser.add_argument("--output", type=Path, default=DATA / "protobuf.json", help="the table to write")
    options = parser.parse_args()
    answer = json.loads(options.answer.read_text()) if options.answer else ask_go()
    table = build_table(answer, json.loads((DATA / "kinds.json").read_text())["definitions"])
    check_numbers(answer, table)
    options.output.write_text(json.dumps(table, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{options.output}: {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
