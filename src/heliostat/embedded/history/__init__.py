"""What objects were and when they changed, kept after they are gone (``heliostat get --all``)."""
