"""`fluidkv preempt`: whom to preempt."""
