"""Generation of HTML pages and tables for browsers and notebooks."""
