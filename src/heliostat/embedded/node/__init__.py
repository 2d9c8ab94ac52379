"""The kubelet of local mode: Pods as processes of this machine.

The map: ``lifecycle`` decides the next steps of a Pod (pure), ``agent`` is its reconciler, ``workbench`` carries the
steps out, ``statuses`` reports. ``imaging`` stands in for images, ``isolating`` for the container runtime, ``shim`` is
PID 1 of a Pod; ``network``, ``storage``, ``probing`` and ``logs`` are what their names say, and ``linking`` is how the
API server reaches the node.
"""
