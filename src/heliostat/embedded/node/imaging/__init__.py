"""What image names stand for where no registry is: environments from a table, found or built."""
