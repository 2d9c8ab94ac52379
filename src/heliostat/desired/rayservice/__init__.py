"""The objects of a RayService: RayClusters, Services, Gateway and HTTPRoute, the Serve config."""
