"""The parts of report.html, one file per subject; ``document`` puts them together."""
