"""What the process tells of itself is what the system says."""

import gc
import os
import time

from heliostat.runtime.metrics import Registry
from heliostat.runtime.process_metrics import declare_process_metrics
from runtime.exposition import parse


def test_the_series_of_a_prometheus_client_are_there_and_plausible() -> None:
    registry = Registry()
    declare_process_metrics(registry)
    families = parse(registry.render())
    values = {name: family.samples[0].value for name, family in families.items()}
    assert 0 < values["process_cpu_seconds_total"] <= time.process_time()
    assert 5e6 < values["process_resident_memory_bytes"] < values["process_virtual_memory_bytes"]
    assert 3 <= values["process_open_fds"] < values["process_max_fds"]
    assert time.time() - 86_400 < values["process_start_time_seconds"] <= time.time() + 1


def test_open_files_follow_what_is_opened() -> None:
    registry = Registry()
    declare_process_metrics(registry)
    gc.collect()  # files of other tests that nobody closed
    before = parse(registry.render())["process_open_fds"].samples[0].value
    ends = os.pipe()
    try:
        assert parse(registry.render())["process_open_fds"].samples[0].value == before + 2
    finally:
        for end in ends:
            os.close(end)
