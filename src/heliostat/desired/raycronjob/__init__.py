"""The objects of a RayCronJob: a RayJob for each tick of its schedule."""
