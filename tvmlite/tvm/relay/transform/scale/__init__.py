"""Passes that move scales of channels into the weights of products: TVM's ``FoldScaleAxis``."""
