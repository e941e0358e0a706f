"""What every command writes with: the page of 80 columns and its numbers."""
