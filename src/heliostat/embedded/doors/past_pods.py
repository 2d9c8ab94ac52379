"""Pods that are gone, and what their containers wrote."""

from heliostat.embedded.node.logs.history import LOGS, Gone, list_gone
from heliostat.embedded.node.logs.log_files import LogFiles
from heliostat.embedded.node.logs.log_lines import LogWriter, Wanted, format_log_time
from heliostat.embedded.node.pod_record import PodRecord

__all__ = [
    "LOGS",
    "Gone",
    "LogFiles",
    "LogWriter",
    "PodRecord",
    "Wanted",
    "format_log_time",
    "list_gone",
]
