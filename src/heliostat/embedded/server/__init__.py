"""kube-apiserver: requests in, objects, lists, watches and refusals out.

The map: ``handler`` takes a request, ``targets`` and ``routes`` say what it asks for, ``registry`` and ``resources``
what is served. ``front`` is HTTP, ``documents`` decodes bodies, ``admission`` and ``changes`` write (``patches`` has
the patch types), ``reading`` gets, lists and watches, ``custom`` serves CustomResourceDefinitions, ``describing`` and
``openapi`` tell what is served, ``tables`` has kubectl's columns, ``nodes`` and ``upgrades`` lead to the node.
"""
