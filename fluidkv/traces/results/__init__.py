"""Results of benchmark clients that write a whole run as one JSON object, a file each."""
