"""What several techniques share: the loops around a tile, prefetching, the borders of images."""
