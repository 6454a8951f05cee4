"""What a run leaves for its readers: values of an archive as tables, diagrams and pages."""
