"""``tvm.topi.nn``: layers of neural networks as tensor expressions."""

from tvmlite.tvm import lazy

__getattr__, __all__ = lazy.attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "qnn utils",
    {
        ".activation": """
            fast_softmax leaky_relu log_softmax prelu relu softmax softmax_common
        """,
        ".binary": "binarize_pack binary_dense bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense",
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
            group_conv2d_transpose_nchw group_conv3d_transpose_ncdhw
        """,
        ".layers": """
            add batch_matmul dense depth_to_space dilate flatten matmul nll_loss pad scale_shift_nchw
            scale_shift_nhwc space_to_depth
        """,
        ".normalization": "batch_norm group_norm instance_norm layer_norm lrn rms_norm",
        ".pooling": """
            adaptive_pool adaptive_pool1d adaptive_pool3d global_pool pool pool1d pool2d pool3d
        """,
        ".qnn": """
            SQNN_CODE_TO_DTYPE SQNN_DISABLE SQNN_DTYPE_TO_CODE SQNN_INT32 SQNN_INT8 SQNN_UINT8
            simulated_dequantize simulated_quantize
        """,
        ".recurrent": "lstm",
        ".regions": """
            batch_to_space_nd correlation_nchw deformable_conv2d_nchw deformable_conv2d_nhwc fifo_buffer
            mirror_pad space_to_batch_nd upsampling upsampling3d
        """,
        ".sparse": "sparse_add sparse_dense sparse_transpose",
    },
)
