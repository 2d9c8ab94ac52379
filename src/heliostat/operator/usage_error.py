"""The one error of everything that a person tells the operator: arguments, environment and configuration file."""


class UsageError(Exception):
    """What is wrong with the command line or the configuration, in words for the person who wrote it."""
