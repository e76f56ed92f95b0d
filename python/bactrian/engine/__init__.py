"""From requests to answers: scheduling, decoding, drawing."""
