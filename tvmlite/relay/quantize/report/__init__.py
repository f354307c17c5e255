"""The report of a quantization, as a table, as JSON and as a page."""
