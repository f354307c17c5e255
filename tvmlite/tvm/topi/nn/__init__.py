"""``tvm.topi.nn``: layers of neural networks as tensor expressions."""

from tvmlite.tvm import lazy

__getattr__, __all__ = lazy.attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "utils",
    {
        ".activation": """
            fast_softmax leaky_relu log_softmax prelu relu softmax softmax_common
        """,
        ".binary": "binarize_pack binary_dense",
        ".blocked": """
            conv2d_NCHWc conv2d_NCHWc_int8 dense_pack depthwise_conv2d_NCHWc scale_shift_nchwc
            unpack_NCHWc_to_nchw
        """,
        ".conv": """
            conv1d conv1d_ncw conv1d_nwc conv2d conv2d_hwcn conv2d_nchw conv2d_nhwc conv2d_winograd_nchw
            conv2d_winograd_nhwc conv3d_ncdhw conv3d_ndhwc depthwise_conv2d_nchw depthwise_conv2d_nhwc
            group_conv1d_ncw group_conv1d_nwc group_conv2d_nchw group_conv2d_nhwc
        """,
        ".conv_transpose": """
            conv1d_transpose_ncw conv2d_transpose_nchw conv3d_transpose_ncdhw group_conv1d_transpose_ncw
            group_conv2d_transpose_nchw
        """,
        ".layers": """
            add batch_matmul batch_norm dense depth_to_space dilate flatten group_norm instance_norm
            layer_norm lrn matmul nll_loss pad rms_norm scale_shift_nchw scale_shift_nhwc space_to_depth
        """,
        ".pooling": """
            adaptive_pool adaptive_pool1d adaptive_pool3d global_pool pool pool1d pool2d pool3d
        """,
        ".regions": """
            batch_to_space_nd correlation_nchw deformable_conv2d_nchw deformable_conv2d_nhwc fifo_buffer
            mirror_pad space_to_batch_nd upsampling upsampling3d
        """,
        ".sparse": "sparse_add sparse_dense sparse_transpose",
    },
)
