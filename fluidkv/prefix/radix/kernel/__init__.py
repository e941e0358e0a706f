"""SGLang's tree as arrays of records, for texts that are known before: compiled, or plain Python.

Nothing of it looks at a text: what texts have in common is said by strands. Engines and traces have
this one tree; `radix.reference` is what it means.
"""
