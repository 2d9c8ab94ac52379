"""Jobs: Pods that run to completion, counted exactly once, and Pods and Jobs whose time is up."""
