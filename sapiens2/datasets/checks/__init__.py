"""Rules that data must keep, and the check of whole data sets by them.

``people``, ``outlines`` and ``fields`` are the rules, which the data sets use themselves; ``sources`` and ``run`` are
behind ``sapiens2 data check``.
"""
