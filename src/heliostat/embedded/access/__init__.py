"""Who may do what: certificates, tokens, authentication, authorization.

The map, from the outside in:

- ``listening``: where the server may listen; which requests only a foreign web page would send;
- ``identity`` (``private_files``, ``certificates``, ``private_keys``), ``tls``, ``kubeconfig``: being a server;
- ``authenticate``: from credentials to a user (``client_certificates``, ``tokens``, ``service_account_tokens``,
  ``token_signing``; ``token_requests`` hands tokens out);
- ``rbac``: from a user and ``attributes`` to a decision (``policy_rules``, ``bindings``, ``aggregation``,
  ``default_roles``); ``escalation`` (``rule_coverage``) guards what is written to roles and bindings;
- ``reviews``: the same decisions, asked for as objects;
- ``users``: the noun.

Only ``private_files``, ``tls`` and ``kubeconfig`` touch the world; no module asks for the time. Those that import
``cryptography`` or ``jwt`` (``certificates``, ``private_keys``, ``client_certificates``, ``token_signing`` and what is
built on them) are imported by whoever composes the server, never by the deciding modules.
"""
