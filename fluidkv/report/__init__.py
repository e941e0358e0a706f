"""How an answer is shown: a page of text, an HTML report, interactive charts."""
