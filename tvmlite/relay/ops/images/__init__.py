"""Images, and regions of them."""
