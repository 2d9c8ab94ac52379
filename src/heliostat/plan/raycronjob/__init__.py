"""The next plan of a RayCronJob."""
