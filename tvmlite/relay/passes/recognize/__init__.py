"""Passes that find operators which an exporter wrote out in smaller ones."""
