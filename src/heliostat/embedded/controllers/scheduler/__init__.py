"""kube-scheduler: which node a Pod goes to, and if none, why not."""
