"""A text that cannot be read as Kubernetes documents: where, what is wrong, and how to fix it."""

from heliostat.kube.paths import Path, format_path


class DocumentError(ValueError):
    """``line`` and ``column`` count from 1; ``path`` is there when the value itself is at fault, not the syntax.

    ``told_by_go`` is what a Go program's parser says of it, for where its words are compared.
    """

    def __init__(
        self, source: str, line: int, column: int, problem: str, fix: str, path: Path = (), told_by_go: str = ""
    ) -> None:
        super().__init__(source, line, column, problem, fix, path, told_by_go)
        self.source = source
        self.line = line
        self.column = column
        self.problem = problem
        self.fix = fix
        self.path = path
        self.told_by_go = told_by_go or f"line {line}: {problem}"

    def __str__(self) -> str:
        where = f" at {format_path(self.path)}" if self.path else ""
        return f"{self.source}:{self.line}:{self.column}: {self.problem}{where}; {self.fix}"
