"""By which names a Pod knows itself and finds others: its host name, /etc/hosts and /etc/resolv.conf.

A Pod in the network of its node is known by the node's name and, unless it asks for the cluster's names, looks up what
the host does. Whoever is asked is always our own server: the host's are out of reach in there, and it asks them.
"""

from pathlib import Path

from heliostat.embedded.node.node_facts import NodeFacts
from heliostat.embedded.node.pods import NodePod

_HOST_FILES = Path("/etc")
_LONGEST_NAME = 63
NAMES = ("hosts", "resolv.conf", "hostname")


def hostname_of(pod: NodePod) -> str:
    name = pod.spec.node_name if pod.spec.host_network else pod.spec.hostname or pod.metadata.name
    return name[:_LONGEST_NAME]


def write_name_files(pod: NodePod, address: str, facts: NodeFacts, etc: Path) -> None:
    """Into a directory of the Pod's own."""
    etc.mkdir(exist_ok=True)
    of_host = {name: _read(_HOST_FILES / name) for name in ("hosts", "resolv.conf")}
    hosts = build_hosts_of_host(pod, of_host["hosts"]) if pod.spec.host_network else ""
    (etc / "hosts").write_text(hosts or build_hosts(pod, hostname_of(pod), address, facts.domain))
    resolv_conf = build_resolv_conf(pod, facts.dns_address, facts.domain, of_host["resolv.conf"])
    (etc / "resolv.conf").write_text(resolv_conf)
    (etc / "hostname").write_text(f"{hostname_of(pod)}\n")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def build_hosts(pod: NodePod, hostname: str, address: str, domain: str) -> str:
    names = hostname
    if pod.spec.subdomain:
        names = f"{hostname}.{pod.spec.subdomain}.{pod.metadata.namespace}.svc.{domain}\t{hostname}"
    lines = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        f"{address}\t{names}",
        *_aliases(pod),
    ]
    return "\n".join(lines) + "\n"


def build_hosts_of_host(pod: NodePod, of_host: str) -> str:
    """The machine's own, and what the Pod adds to it."""
    return "\n".join(("# Kubernetes-managed hosts file (host network).", of_host.rstrip("\n"), *_aliases(pod))) + "\n"


def _aliases(pod: NodePod) -> list[str]:
    return [f"{alias.ip}\t{chr(9).join(alias.hostnames)}" for alias in pod.spec.host_aliases]


def build_resolv_conf(pod: NodePod, server: str, domain: str, of_host: str = "") -> str:
    """By the Pod's policy the cluster's names, the host's (``of_host``), or none; and what dnsConfig adds to them."""
    config = pod.spec.dns_config
    searches, options = _policy_names(pod, domain, of_host)
    servers = [] if pod.spec.dns_policy == "None" else [server]
    servers += config.get("nameservers") or []
    searches += config.get("searches") or []
    options |= {option["name"]: option.get("value") or "" for option in config.get("options") or []}
    lines = [*(f"nameserver {address}" for address in servers)]
    lines += [f"search {' '.join(searches)}"] if searches else []
    words = [f"{name}:{value}" if value else name for name, value in options.items()]
    lines += [f"options {' '.join(words)}"] if words else []
    return "\n".join(lines) + "\n"


def _policy_names(pod: NodePod, domain: str, of_host: str) -> tuple[list[str], dict[str, str]]:
    """Which domains are searched, and with which options."""
    policy = pod.spec.dns_policy
    if policy == "None":
        return [], {}
    if policy == "Default" or (policy == "ClusterFirst" and pod.spec.host_network):
        return _words(of_host, "search"), dict(word.partition(":")[::2] for word in _words(of_host, "options"))
    return [f"{pod.metadata.namespace}.svc.{domain}", f"svc.{domain}", domain], {"ndots": "5"}


def _words(of_host: str, keyword: str) -> list[str]:
    """The last line of a kind counts."""
    found = [words[1:] for line in of_host.splitlines() if (words := line.split())[:1] == [keyword]]
    return found[-1] if found else []
