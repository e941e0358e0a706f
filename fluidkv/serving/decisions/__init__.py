"""What the literal engine decides: who asks for what, who goes, who enters, with how much."""
