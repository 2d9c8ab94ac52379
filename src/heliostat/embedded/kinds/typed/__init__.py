"""Built-in objects as kube-apiserver's Go types would decode them: zeros dropped, unknown fields found."""
