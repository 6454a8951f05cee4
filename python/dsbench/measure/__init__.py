"""One run: a workload against a target over a ladder of scales, which leaves an archive.

Read ``run`` first: it is the table of contents of a run.
"""
