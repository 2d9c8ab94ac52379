"""The client of Ray's dashboard: what is asked, and what each answer means."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliostat.kube.jsontree import encode_json
from heliostat.ray.dashboard import RayDashboard, Submission, is_proxy_healthy
from heliostat.ray.ways import DirectWays, ProxiedWays
from heliostat.runtime.errors import (
    AlreadyExistsError,
    AmbiguousError,
    ApiError,
    FencedError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OtherAnswerError,
    ThrottledError,
    UnavailableError,
)
from heliostat.runtime.fence import LeaseFence
from heliostat.runtime.transport import Reply
from heliostat.testing.scripted_ray import Answer, Hang, SlowBody
from ray_jobs.dashboards import SERVICE, SUBMISSION, Fixed, Scene, play

JOB = "job-x7k2p"


def status(code: int, message: str, reason: str = "") -> Reply:
    tree = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason}
    return Reply(code, encode_json({**tree, "code": code}))


def dashboard(reply: Reply, *, proxied: bool = True, token: str = "") -> tuple[RayDashboard, Fixed]:
    fixed = Fixed(reply)
    ways = ProxiedWays(fixed) if proxied else DirectWays(fixed)
    return RayDashboard(ways.to_dashboard("default", SERVICE, "svc.default.svc:8265"), token=token), fixed


def test_a_job_is_submitted_followed_and_stopped() -> None:
    async def scene(at: Scene) -> None:
        assert await at.dashboard.submit_job(SUBMISSION) == JOB
        info = await at.dashboard.fetch_job(JOB)
        assert (info.status, info.submission_id, info.entrypoint) == ("PENDING", JOB, "python app.py")
        await asyncio.sleep(2)
        assert (await at.dashboard.fetch_job(JOB)).status == "RUNNING"
        assert [job.submission_id for job in await at.dashboard.list_jobs()] == [JOB]
        assert await at.dashboard.stop_job(JOB) is True
        assert await at.dashboard.stop_job(JOB) is False
        assert (await at.dashboard.fetch_job(JOB)).status == "STOPPED"
        assert "begins" in await at.dashboard.fetch_logs(JOB)
        await at.dashboard.delete_job(JOB)
        await at.dashboard.delete_job(JOB)
        with pytest.raises(NotFoundError):
            await at.dashboard.fetch_job(JOB)

    play(scene)


def test_an_id_that_was_used_is_told_apart_from_other_failures() -> None:
    async def scene(at: Scene) -> None:
        await at.dashboard.submit_job(SUBMISSION)
        with pytest.raises(AlreadyExistsError):
            await at.dashboard.submit_job(SUBMISSION)

    play(scene)


def test_serve_applications_are_put_and_read_back() -> None:
    async def scene(at: Scene) -> None:
        assert (await at.dashboard.fetch_applications()).applications == {}
        await at.dashboard.put_applications({"applications": [{"name": "fruit", "import_path": "f:app"}]})
        found = (await at.dashboard.fetch_applications()).applications["fruit"]
        assert (found.status, found.deployments["D"].status) == ("DEPLOYING", "UPDATING")
        await asyncio.sleep(3)
        found = (await at.dashboard.fetch_applications()).applications["fruit"]
        assert (found.status, found.deployments["D"].status) == ("RUNNING", "HEALTHY")

    play(scene)


def test_health_is_a_yes_a_no_or_silence() -> None:
    async def scene(at: Scene) -> None:
        way = ProxiedWays(at.transport).to_pod("default", "head", "10.0.0.1", 8000)
        assert await is_proxy_healthy(way) is True
        at.ray.cluster("default/head").disturb(Answer(503, times=1), Hang())
        assert await is_proxy_healthy(way) is False
        assert await is_proxy_healthy(way) is None

    play(scene)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("error trying to reach service: dial tcp 10.0.0.1:8000: connect: connection refused", False),
        ("error trying to reach service: dial tcp 10.0.0.1:8000: i/o timeout", None),
        ("etcdserver: request timed out", "nothing"),
        ("admission webhook denied the request", "nothing"),
    ],
)
def test_what_the_api_server_says_for_itself_is_no_word_of_a_proxy(words: str, told: bool | str | None) -> None:
    """Only that nobody listens there is: a request lost on our own way takes no endpoint away."""

    async def scene(at: Scene) -> None:
        way = ProxiedWays(at.transport).to_pod("default", "head", "10.0.0.1", 8000)
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": words, "code": 503}
        at.ray.cluster("default/head").disturb(Answer(status=503, body=msgspec.json.encode(status)))
        if told == "nothing":
            with pytest.raises(OtherAnswerError):
                await is_proxy_healthy(way)
        else:
            assert await is_proxy_healthy(way) is told

    play(scene)


def test_a_submission_says_what_was_asked_for_and_leaves_out_what_is_empty() -> None:
    sent = msgspec.json.decode(msgspec.json.encode(Submission(submission_id="a", entrypoint="")))
    assert sent == {"submission_id": "a", "entrypoint": ""}
    sent = msgspec.json.decode(
        msgspec.json.encode(
            Submission(submission_id="a", entrypoint="x", entrypoint_num_cpus=0.5, entrypoint_resources={"r": 1})
        )
    )
    assert sent == {
        "submission_id": "a",
        "entrypoint": "x",
        "entrypoint_num_cpus": 0.5,
        "entrypoint_resources": {"r": 1},
    }


@pytest.mark.parametrize(
    ("proxied", "path", "seconds"),
    [
        (True, f"/api/v1/namespaces/default/services/{SERVICE}:dashboard/proxy/api/jobs/{JOB}", 10.0),
        (False, f"//svc.default.svc:8265/api/jobs/{JOB}", 2.0),
    ],
)
def test_the_way_decides_on_path_and_deadline_and_the_token_has_a_header_of_its_own(
    proxied: bool, path: str, seconds: float
) -> None:
    client, fixed = dashboard(Reply(200, b'{"status":"RUNNING"}'), proxied=proxied, token="secret")
    asyncio.run(client.fetch_job(JOB))
    ((call, given),) = fixed.calls
    assert (call.path, given) == (path, seconds)
    assert call.headers == (("x-ray-authorization", "Bearer secret"),)
    assert call.most_bytes > 0


def test_a_call_that_changes_something_never_takes_longer_than_a_lease_allows() -> None:
    client, fixed = dashboard(Reply(200, b"{}"))
    asyncio.run(client.submit_job(SUBMISSION))
    assert fixed.calls[0][1] <= 5.0


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(404, b"Job job-x7k2p does not exist"), NotFoundError),
        (status(404, 'services "raycluster-head-svc" not found'), UnavailableError),
        (status(503, "no endpoints available for service", "ServiceUnavailable"), UnavailableError),
        (status(403, "services/proxy is forbidden"), ForbiddenError),
        (status(429, "too many requests"), ThrottledError),
        (Reply(502, b"Error trying to reach service: EOF"), UnavailableError),
        (Reply(401, b"Unauthorized"), ForbiddenError),
        (Reply(429, b"slow down", "3"), ThrottledError),
        (Reply(500, b'{"status":"SUCCEEDED"}'), UnavailableError),
        (Reply(503, b'{"error":"x"}'), UnavailableError),
        (Reply(302, b""), OtherAnswerError),
        (Reply(200, b"<html>"), OtherAnswerError),
        (Reply(200, b"{}"), OtherAnswerError),
        (Reply(200, b'{"status":"FLYING"}'), OtherAnswerError),
        (Reply(200, b'{"status":""}'), OtherAnswerError),
        (Reply(200, b'{"status":"SUCCEEDED","submission_id":"another"}'), OtherAnswerError),
        (Reply(200, b"x" * (4 * 1024 * 1024 + 1)), UnavailableError),
    ],
)
def test_what_is_not_job_info_is_never_taken_for_it(reply: Reply, error: type[ApiError]) -> None:
    client, _fixed = dashboard(reply)
    with pytest.raises(ApiError) as raised:
        asyncio.run(client.fetch_job(JOB))
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(400, b"Traceback: entrypoint is missing"), InvalidError),
        (Reply(500, b"RuntimeError: Request failed with status code 400: ValueError: bad num_cpus"), InvalidError),
        (Reply(500, b"ValueError: Job a already exists. Please use a different submission_id."), AlreadyExistsError),
        (Reply(500, b"No available agent to submit job, please try again later."), UnavailableError),
        (Reply(500, b"Traceback: anything"), AmbiguousError),
        (Reply(502, b"Error trying to reach service: EOF"), AmbiguousError),
        (Reply(502, b"Error trying to reach service: dial tcp: connection refused"), UnavailableError),
        (status(503, "no endpoints available for service", "ServiceUnavailable"), UnavailableError),
        (status(503, "error trying to reach service: EOF", "ServiceUnavailable"), AmbiguousError),
        (status(404, 'services "x" not found'), UnavailableError),
        (Reply(200, b"<html>"), AmbiguousError),
    ],
)
def test_a_submission_without_a_clear_answer_is_in_doubt(reply: Reply, error: type[ApiError]) -> None:
    client, _fixed = dashboard(reply)
    with pytest.raises(ApiError) as raised:
        asyncio.run(client.submit_job(SUBMISSION))
    assert type(raised.value) is error


def test_a_stop_that_is_answered_with_something_else_is_in_doubt() -> None:
    client, _fixed = dashboard(Reply(200, b"<html>"))
    with pytest.raises(AmbiguousError):
        asyncio.run(client.stop_job(JOB))


@pytest.mark.parametrize("bad", ["", "a/b", "..", "."])
def test_what_is_no_id_of_a_job_is_not_asked_for(bad: str) -> None:
    client, fixed = dashboard(Reply(200, b"{}"))
    with pytest.raises(InvalidError):
        asyncio.run(client.fetch_job(bad))
    assert not fixed.calls


def test_a_dashboard_that_hangs_is_given_up_a_read_is_unavailable_a_write_ambiguous() -> None:
    async def scene(at: Scene) -> None:
        at.cluster.disturb(Hang())
        with pytest.raises(UnavailableError, match="no answer within 10 s"):
            await at.dashboard.fetch_job(JOB)
        with pytest.raises(AmbiguousError, match="no answer within 4 s"):
            await at.dashboard.submit_job(SUBMISSION)
        assert asyncio.get_running_loop().time() == 14
        at.cluster.heal()
        at.cluster.disturb(SlowBody(seconds=60))
        with pytest.raises(AmbiguousError):
            await at.dashboard.submit_job(SUBMISSION)
        assert len(at.ray.accepted) == 1

    play(scene)


def test_nothing_is_changed_without_the_fence_and_reads_do_not_ask_it() -> None:
    async def scene(at: Scene) -> None:
        with pytest.raises(FencedError):
            await at.dashboard.submit_job(SUBMISSION)
        with pytest.raises(FencedError):
            await at.dashboard.put_applications({})
        assert await at.dashboard.list_jobs() == []
        assert not at.ray.accepted

    play(scene, fence=LeaseFence(lambda: 0.0))


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
BODIES = st.one_of(
    st.binary(max_size=60),
    JSON.map(encode_json),
    st.fixed_dictionaries({"status": st.sampled_from(["RUNNING", "FAILED", 3, None])}, optional={"message": JSON}).map(
        encode_json
    ),
    st.fixed_dictionaries({"applications": JSON}).map(encode_json),
    st.just(status(500, "x").body),
)


@given(code=st.integers(200, 599), body=BODIES, proxied=st.booleans())
def test_whatever_a_dashboard_answers_is_a_value_or_an_error_of_the_tree(code: int, body: bytes, proxied: bool) -> None:
    client, _fixed = dashboard(Reply(code, body), proxied=proxied)

    async def ask() -> None:
        for question in (
            lambda: client.fetch_job(JOB),
            client.list_jobs,
            lambda: client.submit_job(SUBMISSION),
            lambda: client.stop_job(JOB),
            lambda: client.delete_job(JOB),
            lambda: client.fetch_logs(JOB),
            client.fetch_applications,
            lambda: client.put_applications({}),
            client.fetch_version,
        ):
            try:
                await question()
            except ApiError as error:
                assert str(error)  # noqa: PT017  any error of the tree will do, if it says something

    asyncio.run(ask())
