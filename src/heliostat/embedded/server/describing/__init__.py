"""What the server says of itself: discovery, health, version, and answers to reviews."""
