"""The controller loop: client, watches, caches, work queue, executor, leader election. Knows nothing of Ray."""
