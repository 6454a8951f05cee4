"""Numbers in, numbers out: equations 1-12 of seed 000, quantiles, intervals, drift, resources.

Pure functions on values; nothing here reads a file, a clock or a database.
"""
