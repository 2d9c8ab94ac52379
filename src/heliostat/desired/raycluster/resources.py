"""Resources: what Ray is told it has, and what a Pod asks Kubernetes for (raycluster.md R7-25, R7-30, §8.1)."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from heliostat.api.markers import JsonObject
from heliostat.kube.quantity import Quantity, QuantityError

# Ray's name for each accelerator that has no flag of its own.
ACCELERATORS = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
TPU = "google.com/tpu"

_MIG = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")


def is_gpu(resource: str) -> bool:
    return resource.endswith("gpu") or _MIG.search(resource) is not None


def quantity_of(resources: JsonObject | None, name: str) -> Quantity | None:
    """The quantity under a name, or None when absent or zero."""
    value = (resources or {}).get(name)
    if value is None:
        return None
    quantity = Quantity.parse(value)
    return None if quantity.is_zero else quantity


def complete_resource_params(params: dict[str, str], container: JsonObject) -> None:
    """Fill num-cpus, memory, num-gpus and resources from the container's limits where the user left them out."""
    resources = container.get("resources") or {}
    limits = resources.get("limits") or {}
    if "num-cpus" not in params:
        cpu = quantity_of(limits, "cpu") or quantity_of(resources.get("requests"), "cpu")
        if cpu is not None:
            params["num-cpus"] = str(cpu.ceil())
    if "memory" not in params:
        memory = quantity_of(limits, "memory")
        if memory is not None:
            params["memory"] = str(memory.ceil())
    _complete_accelerators(params, limits)


def _complete_accelerators(params: dict[str, str], limits: JsonObject) -> None:
    if not limits:
        return
    custom = parse_custom_resources(params.get("resources", ""))
    if custom is None:
        return  # KubeRay: a value that is not JSON stops all accelerator derivation (R7-25)
    nonzero = [(name, quantity) for name in sorted(limits) if (quantity := quantity_of(limits, name)) is not None]
    gpu = next((quantity for name, quantity in nonzero if is_gpu(name)), None)
    if gpu is not None and "num-gpus" not in params:
        params["num-gpus"] = str(gpu.ceil())
    if any(ray_name in custom for ray_name in ACCELERATORS.values()):
        return
    accelerator = next(((name, quantity) for name, quantity in nonzero if name in ACCELERATORS), None)
    if accelerator is not None:
        custom[ACCELERATORS[accelerator[0]]] = accelerator[1].as_float()
        params["resources"] = format_custom_resources(custom)


def parse_custom_resources(text: str) -> dict[str, float] | None:
    """Ray's ``--resources`` JSON, in any of the quotes people put around it; None when it is not JSON."""
    text = text.strip("'\"` ")
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, float])
    except msgspec.DecodeError:
        return None


def format_custom_resources(custom: dict[str, float]) -> str:
    numbers = {name: int(value) if value == int(value) else value for name, value in sorted(custom.items())}
    return f"'{msgspec.json.encode(numbers).decode()}'"


def apply_group_resources(params: dict[str, str], resources: dict[str, str] | None) -> None:
    """A group's own ``resources`` map overrides what rayStartParams say (R7-30)."""
    custom: dict[str, float] = {}
    for name, text in (resources or {}).items():
        try:
            quantity = Quantity.parse(text)
        except QuantityError:
            continue  # KubeRay: an unparsable quantity is skipped
        lowered = name.lower()
        if lowered in ("cpu", "memory"):
            params["num-cpus" if lowered == "cpu" else "memory"] = str(quantity.ceil())
        elif is_gpu(lowered):
            params["num-gpus"] = str(quantity.ceil())
        else:
            custom[name] = quantity.as_float()
    if custom:
        params["resources"] = format_custom_resources(custom)


def apply_group_labels(params: dict[str, str], labels: dict[str, str] | None) -> None:
    if labels:
        params["labels"] = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def pod_requests(template: JsonObject) -> Iterator[tuple[str, Quantity]]:
    """What the user's containers ask for: requests, and limits where no request is named. Sidecars do not count."""
    for container in (template.get("spec") or {}).get("containers") or []:
        resources = container.get("resources") or {}
        requests = resources.get("requests") or {}
        limits = resources.get("limits") or {}
        for name, value in (limits | requests).items():
            yield name, Quantity.parse(value)


def sum_quantities(terms: Iterable[tuple[str, Quantity]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for name, quantity in terms:
        total[name] = total[name] + quantity if name in total else quantity
    return total


def format_quantities(total: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(total[name]) for name in sorted(total)}
