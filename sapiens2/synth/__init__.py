"""SynthHumans: procedural people with exact ground truth for every task, made from a seed."""
