"""Parts that several techniques use: loops around a tile, prefetching, borders of images, instructions."""
