"""HTTP: connections, bodies, upgrades, content negotiation. The one place that knows the HTTP library."""
