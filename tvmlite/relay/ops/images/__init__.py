"""Operators on images and on regions of images."""
