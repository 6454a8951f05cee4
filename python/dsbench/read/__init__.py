"""What archives say: their rows, subjects and figures, and the media that show them."""
