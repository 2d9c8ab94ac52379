"""Endpoints: which Pods stand behind a Service, as EndpointSlices and in the older form."""
