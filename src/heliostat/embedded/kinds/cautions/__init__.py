"""What a client is warned of although it is accepted: habits that are deprecated, ignored or rarely meant.

``by_kind`` says which rules a kind has; the other modules hold the rules, each a generator of sentences in
kube-apiserver's words and order.
"""
