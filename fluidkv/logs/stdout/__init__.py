"""What a server prints: lines of statistics, preemptions, and its settings at the start."""
