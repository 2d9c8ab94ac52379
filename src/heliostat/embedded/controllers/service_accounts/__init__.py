"""What every namespace has for its Pods: the account ``default`` and the certificate of the API server."""
