"""The next plan of a RayJob."""
