"""The next plan of a RayCluster."""
