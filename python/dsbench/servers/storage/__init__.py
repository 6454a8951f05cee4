"""File systems that are made for private servers: made, aged, mounted and taken back."""
