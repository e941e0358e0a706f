"""What a question is: options, an answer whose fields are described; all else follows from them."""
