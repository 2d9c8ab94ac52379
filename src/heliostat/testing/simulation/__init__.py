"""A whole control plane in one process and virtual time, with faults as data and invariants at every revision."""
