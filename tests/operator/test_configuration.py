"""Flags, environment and file become one value for the process."""

from typing import Any

import pytest
from msgspec import structs

from heliostat.api.settings import Settings
from heliostat.operator.configuration import OperatorProcess, ProcessFlags, build_process, parse_process_flags
from heliostat.operator.flag_help import FLAG_SENTENCES, HIDDEN, render_help
from heliostat.operator.listen_address import ListenAddress, parse_address
from heliostat.operator.options import WORKERS
from heliostat.operator.usage_error import UsageError


def process(
    *arguments: str, config: dict[str, Any] | None = None, environment: dict[str, str] | None = None
) -> OperatorProcess:
    return build_process(parse_process_flags(arguments), environment or {}, config)


def test_without_anything_the_defaults_are_kuberays() -> None:
    told = process()
    assert (told.metrics_at, told.probes_at) == (ListenAddress("", 8080), ListenAddress("", 8082))
    assert (told.has_election, told.lease_namespace, told.namespaces) == (True, "", ())
    assert (told.qps, told.burst, told.uses_proxy, told.has_kuberay_metrics) == (None, 200, False, False)
    assert (told.log.level, told.log.format, told.log.file, told.log.file_format) == ("info", "auto", "", "json")
    assert told.warnings == ()


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        (["--metrics-addr=0"], "metrics_at", None),
        (["--metrics-addr="], "metrics_at", ListenAddress("", 8080)),
        (["--health-probe-bind-address="], "probes_at", None),
        (["-health-probe-bind-address", "[::1]:81"], "probes_at", ListenAddress("::1", 81)),
        (["--enable-leader-election=false"], "has_election", False),
        (["--leader-election-namespace=ray"], "lease_namespace", "ray"),
        (["--reconcile-concurrency=7"], "concurrency", 7),
        (["--enable-metrics"], "has_kuberay_metrics", True),
        (["--use-kubernetes-proxy"], "uses_proxy", True),
        (["--context=there"], "context", "there"),
        (["--request-seconds=1.5"], "request_seconds", 1.5),
        (["--ready-probe-seconds=1"], "settings", Settings(ready_probe_seconds=1)),
    ],
)
def test_flags(arguments: list[str], field: str, expected: Any) -> None:
    assert getattr(process(*arguments), field) == expected


@pytest.mark.parametrize(
    ("arguments", "level", "log_format"),
    [
        (["--zap-log-level=error"], "error", "auto"),
        (["--zap-devel"], "debug", "auto"),
        (["--zap-devel", "--zap-log-level=2"], "2", "auto"),
        (["--log-stdout-encoder=console"], "info", "text"),
        (["--log-stdout-encoder=json"], "info", "json"),
        (["--log-stdout-encoder=console", "--log-format=json"], "info", "json"),
        (["--zap-encoder=console", "--zap-time-encoding=epoch", "--zap-stacktrace-level=error"], "info", "auto"),
    ],
)
def test_log_flags(arguments: list[str], level: str, log_format: str) -> None:
    log = process(*arguments).log
    assert (log.level, log.format) == (level, log_format)


def test_reconcile_concurrency_uses_the_machine_unless_it_is_told() -> None:
    assert WORKERS > 1
    assert process().concurrency == WORKERS
    assert process("--reconcile-concurrency=1").concurrency == 1
    assert process(config={"reconcileConcurrency": 0}).concurrency == WORKERS


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ()), ("a", ("a",)), ("a,b", ("a", "b")), (" a , b ,, a", ("a", "b"))],
)
def test_blanks_around_watched_namespaces_do_not_count(text: str, names: tuple[str, ...]) -> None:
    assert process(f"--watch-namespace={text}").namespaces == names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--metrics-adr=:1"], "unknown flag --metrics-adr; did you mean --metrics-addr?"),
        (["-zzz"], "unknown flag --zzz; --help lists all flags"),
        (["--enable-metrics", "false"], "'false' belongs to no flag; a boolean takes its value behind ="),
        (["--metrics-addr=8080"], "--metrics-addr: '8080' is no address; give HOST:PORT, :PORT, or 0 for none"),
        (["--metrics-addr=:80800"], "is no address"),
        (["--reconcile-concurrency=-1"], "less than 1"),
        (["--watch-namespace=A"], "'A' is not a namespace"),
        (["--log-file-encoder=xml"], "--log-file-encoder: 'xml' is not known; use json or console"),
        (["--log-stdout-encoder=xml"], "use json or console"),
        (["--log-format=xml"], "use auto, json or text"),
        (["--ready-probe-seconds=11"], "--ready-probe-seconds: 11 is not between 0, which means KubeRay's own, and 10"),
        (["--request-seconds=0"], "--request-seconds: 0 s is no deadline"),
        (["--request-seconds=inf"], "is no deadline"),
        (["--feature-gates=Nope=true"], "unknown feature gate"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        process(*arguments)
    assert words in str(refused.value)


def test_a_file_counts_in_the_place_of_the_flags_that_it_has_fields_for() -> None:
    config = {"watchNamespace": "b", "qps": 7, "batchScheduler": "yunikorn", "logFile": "x.log"}
    told = process(
        "--watch-namespace=a",
        "--metrics-addr=:1",
        "--feature-gates=RayClusterMTLS=true",
        "--log-stdout-encoder=console",
        "--kubeconfig=k",
        config=config,
    )
    assert (told.namespaces, told.qps, told.log.file) == (("b",), 7, "x.log")
    assert told.settings.batch_scheduler == "yunikorn"
    assert told.metrics_at == ListenAddress("", 8080), "the default of the file, not the flag"
    assert told.settings.gate("RayClusterMTLS")
    assert (told.log.format, told.kubeconfig) == ("text", "k")
    assert [text for text in told.warnings if "does not count beside --config" in text] == [
        "the flag --metrics-addr does not count beside --config",
        "the flag --watch-namespace does not count beside --config",
    ]


def test_an_empty_address_in_the_file_has_its_default() -> None:
    told = process(config={"metricsAddr": "", "probeAddr": ""})
    assert (told.metrics_at, told.probes_at) == (ListenAddress("", 8080), ListenAddress("", 8082))


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (["--forced-cluster-upgrade"], {}, "--forced-cluster-upgrade is deprecated and has no effect"),
        (["--enable-batch-scheduler"], {}, "use --batch-scheduler=volcano"),
        ([], {"ENABLE_WEBHOOKS": "true"}, "ENABLE_WEBHOOKS has no effect"),
    ],
)
def test_what_does_not_count_is_a_warning(arguments: list[str], environment: dict[str, str], words: str) -> None:
    (warning,) = process(*arguments, environment=environment).warnings
    assert words in warning


@pytest.mark.parametrize(
    ("arguments", "qps"),
    [
        ([], None),
        (["--qps=100", "--burst=200"], None),
        (["--qps=0"], None),
        (["--qps=-1", "--burst=5"], None),
        (["--qps=10"], 10.0),
        (["--burst=20"], 100.0),
    ],
)
def test_a_rate_counts_unless_it_is_kuberays_default(arguments: list[str], qps: float | None) -> None:
    assert process(*arguments).qps == qps


def test_a_rate_that_is_no_number_is_refused() -> None:
    with pytest.raises(UsageError, match="--qps: nan"):
        process("--qps=nan")


@pytest.mark.parametrize(("text", "expected"), [("TRUE", True), ("1", False), ("", False)])
def test_ingress_on_openshift_is_a_switch_of_the_environment(text: str, expected: bool) -> None:
    assert process(environment={"USE_INGRESS_ON_OPENSHIFT": text}).use_ingress_on_openshift is expected


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [(":8080", "", "127.0.0.1"), ("10.1.2.3:8080", "10.1.2.3", "10.1.2.3"), ("[::]:8080", "::", "::")],
)
def test_an_address_without_a_host_is_open_to_others_only_inside_a_cluster(
    text: str, inside: str, outside: str
) -> None:
    address = parse_address(text, "--metrics-addr")
    assert address is not None
    assert address.bound(is_in_cluster=True).host == inside
    assert address.bound(is_in_cluster=False).host == outside


def test_every_flag_has_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    names = {field.name.replace("_", "-") for field in structs.fields(ProcessFlags)}
    assert names == {*FLAG_SENTENCES, *HIDDEN}
    page = render_help()
    assert all(f"  --{name}" in page for name in FLAG_SENTENCES)
    assert max(map(len, page.splitlines())) <= 100
