"""What suffices: certificates against simulation, and proved, predicted, simulated and necessary N together."""
