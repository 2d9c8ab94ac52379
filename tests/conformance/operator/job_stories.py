"""RayJobs with the running operator, simulated nodes and a scripted Ray: what stories are told with."""

from typing import Any

from conformance.operator.stories import Stage, Tree
from heliostat.kube.resource_types import ResourceType
from heliostat.operator.kinds import RAY_CLUSTER, RAY_JOB
from plan.rayjob.job_worlds import cluster_spec

JOB = ResourceType("batch/v1", "Job", "jobs")

__all__ = ["JOB", "Scene", "Tree"]


class Scene(Stage, frozen=True):
    async def create(self, name: str, **spec: Any) -> Tree:
        """A sound RayJob in HTTPMode, but for what is said; None leaves a field out."""
        wanted = {"entrypoint": "python ok.py", "submissionMode": "HTTPMode", "rayClusterSpec": cluster_spec(), **spec}
        kept = {key: value for key, value in wanted.items() if value is not None}
        metadata = {"name": name, "namespace": self.namespace}
        made: Tree = await self.admin.create(
            RAY_JOB, {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": kept}
        )
        return made

    async def edit(self, name: str, **spec: Any) -> None:
        await self.admin.merge(RAY_JOB, self.namespace, name, {"spec": spec})

    async def delete(self, *names: str) -> None:
        for name in names:
            await self.admin.delete(RAY_JOB, self.namespace, name)
        await self.until_gone(RAY_JOB)

    async def status(self, name: str) -> Tree:
        found: Tree = (await self.admin.get(RAY_JOB, self.namespace, name)).get("status") or {}
        return found

    async def wait_for(self, name: str, key: str, *values: Any) -> Tree:
        async def is_there() -> bool:
            return (await self.status(name)).get(key) in values

        await self.until(is_there)
        return await self.status(name)

    async def wait_for_phase(self, name: str, *phases: str) -> Tree:
        return await self.wait_for(name, "jobDeploymentStatus", *phases)

    async def end_of(self, name: str) -> Tree:
        return await self.wait_for_phase(name, "Complete", "Failed")

    async def cluster(self, name: str) -> Tree:
        found: Tree = await self.admin.get(RAY_CLUSTER, self.namespace, (await self.status(name))["rayClusterName"])
        return found

    async def end_submitter(self, name: str, type_: str, time: str) -> None:
        """The submitter Job has come to its end, whatever its Pods do."""
        goal = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[type_]
        conditions = [
            {"type": each, "status": "True", "reason": "R", "message": "said so", "lastTransitionTime": time}
            for each in (goal, type_)
        ]
        ended = {"completionTime": time} if type_ == "Complete" else {}
        status = {"active": 0, "ready": 0, "startTime": time, **ended, "conditions": conditions}
        await self.admin.merge(JOB, self.namespace, name, {"status": status}, "status")
