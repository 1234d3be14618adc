"""The live model's endpoint: what is asked of it, how often, at what cost, and by whom."""
