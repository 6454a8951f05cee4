"""Several archives side by side: compared, in order of time, and as bounds of each other."""
