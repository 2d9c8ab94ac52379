"""The doors of the embedded Kubernetes: all that commands, the local composition and test kits may use of it.

Each door is one purpose and loads no more than that. What is behind them may be moved and rewritten freely; a contract
of import-linter keeps everybody else out.
"""
