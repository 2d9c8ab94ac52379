"""A kind that nobody needs, with one folder in each package that a kind of ours has one in."""
