"""Every way to change an object by a patch, as functions over JSON trees.

The map:

- ``patch_types``: which content types a kind takes, and what it says to others;
- ``json_patch``: a list of operations (RFC 6902); ``merge_patch``: an object laid over another (RFC 7386);
- ``strategic_merge``: the same for built-in kinds, whose lists have keys (``strategic_items`` merges the lists,
  ``strategic_fields`` knows the keys);
- ``apply``: server-side apply, and who owns which field;
- ``options``: the query parameters of a patch; ``errors``: what a refused patch says; ``go_values``: Go's spelling.

Nothing here reads a clock, a store or a request. Results share parts with the arguments, which are never changed.
"""
