"""SGLang's scheduler and its prefix tree."""
