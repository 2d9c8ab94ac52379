"""The addresses that Services and Pods get, and the one of the API server among them. They stand here alone."""

from ipaddress import IPv4Network

SERVICE_RANGE = IPv4Network("10.96.0.0/12")
SERVER_ADDRESS = str(SERVICE_RANGE[1])  # of the Service kubernetes: what Pods are told to call
POD_NETWORK = IPv4Network("10.244.0.0/16")
