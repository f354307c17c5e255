"""Changes of a float model that leave what it computes as it is, but are kinder to 8 bits."""
