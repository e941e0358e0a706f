"""What is added to a predicted length before memory is given for it, and what that promises."""
