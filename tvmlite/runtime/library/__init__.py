"""Compiled models as libraries: linked, checked, loaded, called by the names of their inputs."""
