"""Content negotiation: which form an answer takes, and when there is none that the client would take."""

from typing import Any

import msgspec
import pytest

from embedded.server.asking import DEFINITIONS, TABLE, ask, ask_tree, thing_definition
from embedded.server.inprocess import ADMIN, MAPS, Client, config_map, serve
from heliostat.embedded.refusals import RefusedError
from heliostat.embedded.server.front.negotiation import Form, parse_accept, read_form
from heliostat.embedded.server.messages import Request, Stream
from heliostat.kube.yaml_value import read_yaml_value

PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
YAML = "application/yaml"
NONE_OF_THESE = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"


def request(accept: str = "", agent: str = "", **query: str) -> Request:
    headers = {key: value for key, value in (("accept", accept), ("user-agent", agent)) if value}
    values = {key: [value] for key, value in query.items()}
    return Request(method="GET", path=MAPS, user=ADMIN, query=values, headers=headers)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json", Form()),
        ("application/json, */*", Form()),
        ("application/json;charset=utf-8", Form()),
        (f"{PROTOBUF},application/json", Form()),
        ("text/html,application/xhtml+xml,*/*;q=0.8", Form()),
        (YAML, Form(YAML)),
        (f"application/json;q=0.5,{YAML}", Form(YAML)),
        (TABLE, Form(transform="Table")),
        (f"{TABLE},application/json", Form(transform="Table")),
        (f"{TABLE.replace('v=v1', 'v=v1beta1')},application/json", Form(transform="Table", version="v1beta1")),
        (f"{TABLE.replace('v=v1', 'v=v9')},application/json", Form()),
        (TABLE.replace("json", "yaml"), Form(YAML, "Table")),
        (PARTIAL, Form(transform="PartialObjectMetadata")),
        ("application/json;pretty=1", Form(pretty=True)),
        ("application/json;q=nonsense", Form()),
    ],
)
def test_which_form_is_chosen(accept: str, form: Form) -> None:
    assert read_form(request(accept)) == form


@pytest.mark.parametrize(
    ("accept", "is_watch", "message"),
    [
        ("text/html", False, NONE_OF_THESE),
        ("application/*", False, NONE_OF_THESE),
        ("garbage", False, NONE_OF_THESE),
        (PROTOBUF, False, "only the following media types are accepted: application/json, application/yaml"),
        (TABLE.replace("v=v1", "v=v9"), False,
         "only the following media types are accepted: application/json, application/yaml"),
        ("application/json;as=Table", False,
         "only the following media types are accepted: application/json, application/yaml"),
        (YAML, True, "only the following media types are accepted: application/json;stream=watch"),
    ],
)  # fmt: skip
def test_who_accepts_nothing_that_is_served_is_refused(accept: str, is_watch: bool, message: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_form(request(accept), is_watch=is_watch)
    assert (refused.value.code, refused.value.reason, refused.value.message) == (406, "NotAcceptable", message)


@pytest.mark.parametrize(
    ("agent", "pretty", "expected"),
    [
        ("kubectl/v1.32", "", False),
        ("curl/8.0", "", True),
        ("Wget/1.2", "", True),
        ("Mozilla/5.0 (X11)", "", True),
        ("curl/8.0", "0", False),
        ("curl/8.0", "false", False),
        ("", "1", True),
        ("", "true", True),
        ("", "yes", False),
    ],
)
def test_people_get_indented_json(agent: str, pretty: str, expected: bool) -> None:
    query = {"pretty": pretty} if pretty else {}
    assert read_form(request("", agent, **query)).pretty is expected


def test_an_endless_accept_header_is_cut_off() -> None:
    assert len(parse_accept("a/b," * 100_000)) < 2000


def test_an_object_and_an_error_come_as_yaml() -> None:
    async def test(client: Client) -> None:
        created = await client.ok("POST", MAPS, config_map("a"))
        answer = await ask(client, f"{MAPS}/a", YAML)
        assert answer.content_type == YAML
        assert answer.body.startswith(b"apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n")
        assert read_yaml_value(answer.body.decode(), "answer") == created
        missing = await ask(client, f"{MAPS}/nope", YAML)
        assert (missing.status, missing.content_type) == (404, YAML)
        assert read_yaml_value(missing.body.decode(), "answer")["reason"] == "NotFound"

    serve(test)


def test_a_person_reads_indented_json() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", MAPS, config_map("a"))
        answer = await ask(client, f"{MAPS}/a", headers={"user-agent": "curl/8.0"})
        assert answer.body.startswith(b'{\n  "kind": "ConfigMap",\n')
        error = await ask(client, f"{MAPS}/nope", pretty="true")
        assert error.body.startswith(b'{\n  "kind": "Status",\n')

    serve(test)


def test_metadata_alone_of_an_object_and_of_a_list() -> None:
    async def test(client: Client) -> None:
        created = await client.ok("POST", MAPS, config_map("a"))
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"]}
        assert await ask_tree(client, f"{MAPS}/a", PARTIAL) == partial
        listed = await ask_tree(client, MAPS, PARTIALS)
        assert (listed["kind"], listed["items"]) == ("PartialObjectMetadataList", [partial])
        assert listed["metadata"] == {"resourceVersion": created["metadata"]["resourceVersion"]}

    serve(test)


@pytest.mark.parametrize(
    ("path", "accept", "what"),
    [
        (MAPS, PARTIAL, "a list (*core.ConfigMapList)"),
        (f"{MAPS}/a", PARTIALS, "not a list (*core.ConfigMap)"),
        ("/apis/demo.io/v1/things", PARTIAL, "a list (*unstructured.UnstructuredList)"),
    ],
)
def test_one_is_not_many(path: str, accept: str, what: str) -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", DEFINITIONS, thing_definition())
        await client.ok("POST", MAPS, config_map("a"))
        answer = await ask(client, path, accept)
        assert answer.status == 406
        wanted = accept.split(";")[1].removeprefix("as=")
        assert (
            msgspec.json.decode(answer.body)["message"] == f"you requested {wanted}, but the requested object is {what}"
        )

    serve(test)


def test_a_watch_sends_metadata_alone() -> None:
    async def test(client: Client) -> None:
        created = await client.ok("POST", MAPS, config_map("a"))
        answer = await client.core.handle(
            Request(method="GET", path=MAPS, user=ADMIN, query={"watch": ["1"]}, headers={"accept": PARTIAL})
        )
        assert isinstance(answer, Stream)
        event: Any = msgspec.json.decode(await anext(answer.chunks))
        await answer.chunks.aclose()
        assert (event["type"], event["object"]["kind"]) == ("ADDED", "PartialObjectMetadata")
        assert event["object"]["metadata"] == created["metadata"]

    serve(test)


def test_a_wrong_wish_for_the_object_of_a_row_is_refused_only_for_tables() -> None:
    async def test(client: Client) -> None:
        answer = await ask(client, MAPS, TABLE, includeObject="Everything")
        assert answer.status == 400
        assert "must be 'Metadata', 'Object', 'None', or empty" in msgspec.json.decode(answer.body)["message"]
        assert (await ask(client, MAPS, includeObject="Everything")).status == 200

    serve(test)
