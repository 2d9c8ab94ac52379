"""Objects as tables: the columns kubectl shows, for every built-in kind and for custom resources."""
