"""Passes that fold channel scales into the weights of convolutions and dense layers (``FoldScaleAxis``)."""
