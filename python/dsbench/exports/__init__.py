"""Answers for other programs: JUnit's XML and Bencher's metrics of a verdict, a history for Otava."""
