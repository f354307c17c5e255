"""Passes that recognize operators that an exporter wrote in smaller ones."""
