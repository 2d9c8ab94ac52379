"""What validation of every kind is made of: texts, names, labels, addresses, quantities, and the causes of a 422."""
