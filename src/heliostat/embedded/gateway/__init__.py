"""A gateway for local mode: Gateways and HTTPRoutes of the Gateway API, carried out on this machine.

What to do is pure: ``routing`` (which listener, rule and back ends), ``weights`` (whose turn it is), ``conditions``
(what the objects are told). The rest moves bytes. It knows nothing of Ray.
"""
