"""Numbers in, numbers out: equations 1-12 of the paper, quantiles, intervals, drift, resources.

Pure functions on values; nothing here reads a file, a clock or a database.
"""
