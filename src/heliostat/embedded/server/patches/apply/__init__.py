"""Server-side apply: who owns which field of an object, and what an apply by one of them makes of it.

The map, from the inside out:

- ``elements``, ``field_set``: the steps of a path as managedFields write them, and sets of such paths;
- ``shapes``: what a schema says about owning and merging (a table, a set, an atom, a map, a scalar);
- ``values``, ``typed_check``, ``typed_fields``, ``typed_merge``, ``typed_compare``, ``typed_remove``: one walk each
  over a value and its shape;
- ``owners``: the entries of managedFields; ``old_updates``: when there are too many of them;
- ``versions``: an endpoint, with its types; ``reset_fields``: the fields that it does not write;
- ``ownership``: how an update and an apply move ownership, with ``pruning`` (what an apply removes) and ``conflicts``;
- ``last_applied``: coming from ``kubectl apply`` on the client;
- ``tracking``: the two calls that the handlers make, ``apply_patch`` and ``track_update``.

Ownership is kept from the first apply on: before it an object has no managedFields, and the first apply finds what was
there owned by ``before-first-apply``.
"""
