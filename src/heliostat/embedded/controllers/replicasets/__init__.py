"""ReplicaSets: as many Pods of one template as asked for."""
