"""The Pod network: addresses, the bridge, ClusterIPs, DNS, and the way out."""
