"""What others measured on real servers, against our engines: each a prediction."""
