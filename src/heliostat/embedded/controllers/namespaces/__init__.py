"""The end of namespaces: everything in them goes first, and they tell what they wait for."""
