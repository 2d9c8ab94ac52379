"""The museum is open: no exhibit breaks, and every one does when its bug is planted again."""

import pytest

from heliostat.testing.simulation.world import Result, World, run_world
from simulation.hunting import OF_THE_PLANT
from simulation.job_museum import JOB_MUSEUM, JobExhibit
from simulation.museum import MUSEUM, Exhibit
from simulation.rayclusters.nodes import Conduct
from simulation.rayclusters.people import User
from simulation.rayclusters.programs import Staff
from simulation.rayclusters.safety import SAFETY
from simulation.rayclusters.town import found_town
from simulation.raycronjobs.worlds import SAFETY as LAWS_OF_JOBS
from simulation.raycronjobs.worlds import found_cron_town
from simulation.rayservices.clients import Client
from simulation.rayservices.workloads import Owner
from simulation.rayservices.worlds import SAFETY as LAWS_OF_SERVICES
from simulation.rayservices.worlds import found_service_town
from simulation.service_museum import SERVICE_MUSEUM, ServiceExhibit

pytestmark = pytest.mark.slow


def visit(exhibit: Exhibit) -> Result:
    async def scenario(world: World) -> None:
        conduct = Conduct(stop_seconds=exhibit.stop_seconds)
        staff = Staff(forbidden=exhibit.forbidden)
        town = await found_town(world, staff, conduct, two_operators=exhibit.two_operators)
        await exhibit.visit(town, User(world, "c0"))

    return run_world(scenario, seed=1, script=exhibit.script(), invariants=SAFETY)


@pytest.mark.parametrize("exhibit", MUSEUM, ids=lambda exhibit: exhibit.name)
def test_an_old_bug_does_not_come_back(exhibit: Exhibit) -> None:
    result = visit(exhibit)
    assert result.violation is None, "\n".join((result.violation or "", *result.trace[-40:]))


@pytest.mark.parametrize("exhibit", MUSEUM, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_shows_its_bug(exhibit: Exhibit) -> None:
    with exhibit.bug():
        violation = visit(exhibit).violation
    assert violation is not None
    assert not any(error in violation for error in OF_THE_PLANT), violation


def visit_jobs(exhibit: JobExhibit) -> Result:
    async def scenario(world: World) -> None:
        await exhibit.visit(await found_cron_town(world, scheduler=exhibit.scheduler))

    return run_world(scenario, seed=1, script=exhibit.script(), invariants=LAWS_OF_JOBS)


@pytest.mark.parametrize("exhibit", JOB_MUSEUM, ids=lambda exhibit: exhibit.name)
def test_an_old_bug_of_jobs_does_not_come_back(exhibit: JobExhibit) -> None:
    result = visit_jobs(exhibit)
    assert result.violation is None, "\n".join((result.violation or "", *result.trace[-40:]))


@pytest.mark.parametrize("exhibit", JOB_MUSEUM, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_of_jobs_shows_its_bug(exhibit: JobExhibit) -> None:
    with exhibit.bug():
        violation = visit_jobs(exhibit).violation
    assert violation is not None
    assert not any(error in violation for error in OF_THE_PLANT), violation


def visit_services(exhibit: ServiceExhibit) -> Result:
    async def scenario(world: World) -> None:
        town, serves = await found_service_town(world, Conduct(), branch="alone")
        if exhibit.is_asked:
            world.spawn(Client(world, serves, "s0").run())
        await exhibit.visit(town, Owner(world, "s0"))

    return run_world(scenario, seed=1, script=exhibit.script(), invariants=LAWS_OF_SERVICES)


@pytest.mark.parametrize("exhibit", SERVICE_MUSEUM, ids=lambda exhibit: exhibit.name)
def test_an_old_bug_of_services_does_not_come_back(exhibit: ServiceExhibit) -> None:
    result = visit_services(exhibit)
    assert result.violation is None, "\n".join((result.violation or "", *result.trace[-40:]))


@pytest.mark.parametrize("exhibit", SERVICE_MUSEUM, ids=lambda exhibit: exhibit.name)
def test_an_exhibit_of_services_shows_its_bug(exhibit: ServiceExhibit) -> None:
    with exhibit.bug():
        violation = visit_services(exhibit).violation
    assert violation is not None
    assert not any(error in violation for error in OF_THE_PLANT), violation
