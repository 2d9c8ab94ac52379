"""Priority classes that every cluster has, and the numbers that bound them."""

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
DESCRIPTIONS = {
    "system-node-critical": ("Used for system critical pods that must not be moved from their current node."),
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
}
