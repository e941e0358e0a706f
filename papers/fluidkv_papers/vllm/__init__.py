"""Published and measured runs of vLLM, held against its rules here."""
