"""How an answer is shown: a page of text, an HTML report, charts that one can touch."""
