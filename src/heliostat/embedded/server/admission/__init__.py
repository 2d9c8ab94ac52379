"""Admission: namespaces, ServiceAccounts, LimitRanges, quotas, and what Pods are given."""
