"""Several archives side by side: compared (``compare.py``), in order of time, and as bounds of each other."""
