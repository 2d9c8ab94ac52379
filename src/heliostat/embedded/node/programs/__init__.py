"""Programs that images usually bring and this machine may not have: small stand-ins, found last in the PATH."""
