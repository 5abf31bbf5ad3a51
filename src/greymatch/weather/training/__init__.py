"""Learning weather by matching, in the loop that everything learns in."""
