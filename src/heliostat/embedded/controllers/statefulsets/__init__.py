"""StatefulSets: Pods with names that stay, one after the other, each with volumes of its own."""
