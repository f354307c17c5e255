"""What quantization did, as a table, as JSON and as a page."""
