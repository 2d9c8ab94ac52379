"""The addresses that Services get, and the one of the API server among them. They stand here alone."""

from ipaddress import IPv4Network

SERVICE_RANGE = IPv4Network("10.96.0.0/12")
SERVER_ADDRESS = str(SERVICE_RANGE[1])  # of the Service kubernetes: what Pods are told to call
