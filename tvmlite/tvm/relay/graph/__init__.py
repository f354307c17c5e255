"""What the surface of relay is made of: nodes adopted, types inferred, calls between functions."""
