"""The objects of a RayCluster: Pods, Services, Ingresses, RBAC of the autoscaler, clean-up of Redis."""
