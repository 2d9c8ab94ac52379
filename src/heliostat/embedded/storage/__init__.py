"""The store under the API server: one total order of revisions, kept in memory and made durable by a journal.

The map, from the inside out:

- ``keys``, ``records``, ``errors``: the nouns (which object, what is kept of it, what can go wrong);
- ``path_order``, ``revisions``: the multi-version model, pure;
- ``subscription``, ``visibility``: who waits for what;
- ``store``: the one interface that handlers use; it judges writes, orders them and publishes them once durable;
- ``journal``: what makes a write durable; ``memory`` and ``sqlite_journal`` are the two there are
  (``sqlite_file``, ``sqlite_rows``, ``sqlite_writer`` are the parts of the second, ``seal`` tells when it lost writes);
- ``retention``, ``compaction``: how much history stays.
"""
