"""What people do wrong with a RayService that runs: it is told with the field and the fix, and the service runs on."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from conformance.operator.foreign_kinds import GATEWAY
from conformance.operator.service_stories import GATEWAY_CLASS, NAME, ServiceScene
from heliostat.embedded.doors.gateway import CLASS_NAME, build_gateway_class
from heliostat.operator.kinds import RAY_SERVICE
from heliostat.plan.rayservice.serving import REFUSED_AGAIN_AFTER
from heliostat.testing.scripted_ray.faults import Answer
from plan.rayjob.job_worlds import cluster_spec
from plan.rayservice.service_worlds import CONFIG, OTHER_CONFIG, SPLIT
from plan.worlds import pod_template

pytestmark = pytest.mark.slow

Tell = Callable[[Callable[[ServiceScene], Awaitable[None]]], None]

TWO_ON_ONE_ROUTE = """
applications:
  - {name: app, import_path: 'm:a', route_prefix: /same}
  - {name: other, import_path: 'm:b', route_prefix: /same}
"""


def split(**options: Any) -> dict[str, Any]:
    return {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": SPLIT | options}


def other_cluster(**fields: Any) -> dict[str, Any]:
    head = {"rayStartParams": {}, "template": pod_template("ray-head", terminationGracePeriodSeconds=5)}
    return cluster_spec(headGroupSpec=head, **fields)


async def edit_badly(at: ServiceScene, **spec: Any) -> None:
    """Nothing but its own status is written, and Serve is asked for nothing."""
    await at.rest()
    cluster = await at.named("active")
    before = at.serve(cluster).deployed
    at.operated.log.forget(at.namespace)
    await at.edit(**spec)
    await at.rest()
    touched = [
        write
        for write in at.operated.log.in_namespace(at.namespace)
        if (write.use.resource, write.use.subresource) != (RAY_SERVICE.plural, "status")
    ]
    assert touched == []
    assert at.serve(cluster).deployed == before
    assert await at.named("active") == cluster
    assert await at.named("pending") == ""


async def read_warnings(at: ServiceScene, reason: str) -> str:
    events = await at.events(RAY_SERVICE.kind)
    return "\n".join(each["note"] for each in events if each["type"] == "Warning" and each["reason"] == reason)


BAD_CONFIGS = {
    "applications: [": "spec.serveConfigV2 cannot be read: ",
    "nonsense": "spec.serveConfigV2 has to be a map with a list of applications; it is 'nonsense'",
    TWO_ON_ONE_ROUTE: "spec.serveConfigV2: two applications have the route_prefix /same; give each its own",
}


def test_a_configuration_that_cannot_be_is_sent_to_nobody(tell: Tell) -> None:
    async def story(at: ServiceScene) -> None:
        await at.create()
        await at.until_served()
        for config, words in BAD_CONFIGS.items():
            await edit_badly(at, serveConfigV2=config)
            assert words in await read_warnings(at, "FailedToUpdateServeApplications")
            assert words in await at.explain()
            assert (await at.condition("Ready"))["status"] == "True"
        await at.edit(serveConfigV2=OTHER_CONFIG)

        async def is_followed() -> bool:
            (app,) = at.serve(await at.named("active")).applications.values()
            return bool(app["import_path"] == "m:b")

        await at.until(is_followed)

    tell(story)


def test_a_configuration_that_serve_refuses_is_sent_now_and_then_and_the_service_runs_on(tell: Tell) -> None:
    """Once it was sent 37 times each second."""

    async def story(at: ServiceScene) -> None:
        await at.create()
        cluster = await at.until_served()
        await at.rest()
        serve = at.serve(cluster)
        serve.disturb(Answer(method="PUT", path="/api/serve", status=400, body=b"import_path: Field required"))
        serve.requests.clear()
        began = at.ray.now()
        await at.edit(serveConfigV2=OTHER_CONFIG)

        def count() -> int:
            return sum(each.startswith("PUT") for each in serve.requests)

        async def is_sent_again() -> bool:
            return count() >= 3

        await at.until(is_sent_again)
        assert at.ray.now() - began >= 2 * REFUSED_AGAIN_AFTER
        assert "import_path: Field required" in await read_warnings(at, "FailedToUpdateServeApplications")
        assert (await at.condition("Ready"))["status"] == "True"
        assert serve.applications["app"]["import_path"] == "m:a"

        serve.heal()
        await at.edit(serveConfigV2=CONFIG)
        await at.rest()
        assert serve.applications["app"]["import_path"] == "m:a"

    tell(story)


def test_a_step_larger_than_the_surge_is_refused_and_mended_by_the_next_edit(tell: Tell) -> None:
    async def story(at: ServiceScene) -> None:
        config = cluster_spec(enableInTreeAutoscaling=True)
        await at.create(upgradeStrategy=split(), rayClusterConfig=config)
        first = await at.until_served()
        bad = split(stepSizePercent=60)
        changed = other_cluster(enableInTreeAutoscaling=True)
        await edit_badly(at, upgradeStrategy=bad, rayClusterConfig=changed, serveConfigV2=OTHER_CONFIG)
        told = await at.condition("Ready")
        assert (told["status"], told["reason"]) == ("False", "ValidationFailed")
        words = "stepSizePercent must be less than or equal to maxSurgePercent"
        assert words in told["message"]
        assert words in await read_warnings(at, "InvalidRayServiceSpec")
        assert "use at most 50, or raise maxSurgePercent" in await at.explain()
        await at.edit(upgradeStrategy=split(stepSizePercent=50))
        await at.until_served(beyond=first)

    tell(story)


def test_a_gateway_that_works_keeps_its_class_until_there_is_another_one(tell: Tell) -> None:
    """All requests go through it: with a class that nobody carries out they would go nowhere."""

    async def story(at: ServiceScene) -> None:
        await at.admin.create(GATEWAY_CLASS, build_gateway_class())
        await at.create(
            upgradeStrategy=split(gatewayClassName=CLASS_NAME),
            rayClusterConfig=cluster_spec(enableInTreeAutoscaling=True),
        )
        first = await at.until_served()
        await edit_badly(at, upgradeStrategy=split(gatewayClassName="mistyped"))
        field = "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName"
        words = f"{field}: there is no GatewayClass mistyped; the Gateway stays with {CLASS_NAME}"
        assert words in await read_warnings(at, "FailedToUpdateGateway")
        told = await at.explain()
        assert words in told
        assert "kubectl get gatewayclass" in told

        # Other edits are not held up by it.
        await at.edit(rayClusterConfig=other_cluster(enableInTreeAutoscaling=True))
        await at.until_served(beyond=first)

        await at.admin.create(GATEWAY_CLASS, build_gateway_class() | {"metadata": {"name": "mistyped"}})
        await at.rest()
        assert (await find_gateway(at))["gatewayClassName"] == CLASS_NAME, "nobody has accepted it"
        accepted = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}
        status = {"conditions": [accepted | {"lastTransitionTime": "2027-01-01T00:00:00Z"}]}
        await at.admin.merge(GATEWAY_CLASS, "", "mistyped", {"status": status}, "status")

        async def is_followed() -> bool:
            return bool((await find_gateway(at))["gatewayClassName"] == "mistyped")

        await at.until(is_followed)
        for name in ("mistyped", CLASS_NAME):
            await at.admin.delete(GATEWAY_CLASS, "", name)

    tell(story)


async def find_gateway(at: ServiceScene) -> dict[str, Any]:
    spec: dict[str, Any] = (await at.admin.get(GATEWAY, at.namespace, f"{NAME}-gateway"))["spec"]
    return spec


def test_a_bad_configuration_in_the_middle_of_an_upgrade_moves_no_request(tell: Tell) -> None:
    async def story(at: ServiceScene) -> None:
        await at.create()
        first = await at.until_served()
        await at.edit(rayClusterConfig=other_cluster(), serveConfigV2="applications: [")
        await at.until_condition("UpgradeInProgress", "True")
        await at.rest()
        assert (await at.named("active"), (await at.condition("Ready"))["status"]) == (first, "True")
        assert at.serve(first).applications["app"]["import_path"] == "m:a"
        assert "spec.serveConfigV2 cannot be read" in await at.explain()
        await at.edit(serveConfigV2=CONFIG)
        await at.until_served(beyond=first)

    tell(story)
