"""Rules that data must keep. The data sets raise the first fault, ``sapiens2 data check`` collects them all."""
