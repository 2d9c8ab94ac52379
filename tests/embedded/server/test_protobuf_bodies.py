"""Typed clients send protobuf and read JSON: creations, deletions and refusals."""

from embedded.server.inprocess import MAPS, Client, config_map, serve

PROTOBUF = "application/vnd.kubernetes.protobuf"
# kubectl create configmap a --from-literal=x=y
CREATE = bytes.fromhex(
    "6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a016112001a0022002a0032003800420012060a01781201791a002200"
)
# what client-go sends with Deployments(...).Delete and a precondition on the resourceVersion "nope"
DELETE = bytes.fromhex(
    "6b3873000a180a07617070732f7631120d44656c6574654f7074696f6e73120812061204"  # the envelope and the options
    "6e6f7065"
    "1a002200"
)


def test_an_object_in_protobuf_is_created_like_one_in_json() -> None:
    async def test(client: Client) -> None:
        status, made = await client.call("POST", MAPS, CREATE, PROTOBUF)
        assert (status, made["data"]) == (201, {"x": "y"})
        assert await client.ok("GET", f"{MAPS}/a") == made

    serve(test)


def test_options_of_a_deletion_are_read_from_protobuf() -> None:
    async def test(client: Client) -> None:
        await client.ok("POST", MAPS, config_map())
        status, refusal = await client.call("DELETE", f"{MAPS}/a", DELETE, PROTOBUF)
        assert (status, refusal["reason"]) == (409, "Conflict")
        assert "nope" in refusal["message"]

    serve(test)


def test_a_damaged_body_is_a_bad_request_that_says_what_is_wrong() -> None:
    async def test(client: Client) -> None:
        status, refusal = await client.call("POST", MAPS, CREATE[:-20], PROTOBUF)
        assert (status, refusal["reason"]) == (400, "BadRequest")
        assert "unexpected EOF" in refusal["message"]

    serve(test)


def test_another_kind_in_protobuf_is_refused_by_the_path() -> None:
    async def test(client: Client) -> None:
        status, refusal = await client.call("POST", "/api/v1/namespaces/default/secrets", CREATE, PROTOBUF)
        assert (status, refusal["reason"]) == (400, "BadRequest")

    serve(test)
