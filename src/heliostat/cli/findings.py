"""Findings as lines that people and editors read: ``file:line: error: path: problem`` and how to fix it."""

from collections.abc import Iterable

from heliostat.kube.documents import Document
from heliostat.kube.paths import format_path
from heliostat.kube.problems import Problem


def format_finding(document: Document, problem: Problem) -> str:
    rule = f" [{problem.rule}]" if problem.rule else ""
    line = document.line_of(problem.path)
    where = f"{document.source}:{line}: {problem.severity}: {format_path(problem.path)}"
    return f"{where}: {problem.problem}{rule}\n    fix: {problem.fix}"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summarize(documents: int, problems: Iterable[Problem], unreadable: int = 0) -> str:
    severities = [problem.severity for problem in problems]
    errors, warnings = severities.count("error") + unreadable, severities.count("warning")
    checked = count(documents, "document")
    if unreadable:
        checked += f" and {count(unreadable, 'file')} that cannot be read"
    if not errors and not warnings:
        return f"{checked}, no problems"
    return f"{checked}, {count(errors, 'error')}, {count(warnings, 'warning')}"
