"""The next plan of a RayService."""
