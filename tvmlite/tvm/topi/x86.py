"""``tvm.topi.x86``: default schedules, and the operators of ``topi.nn`` under the names they have for x86."""

from tvmlite.tvm import lazy
from tvmlite.tvm.topi.schedules import scheduling

__getattr__, __all__ = lazy.attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "",
    {
        "tvmlite.tvm.topi.nn": """
            batch_matmul batch_matmul_cblas=batch_matmul batch_matmul_mkl=batch_matmul
            bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense conv1d_ncw conv1d_nwc
            conv2d_NCHWc conv2d_NCHWc_int8 conv2d_nchw conv2d_nhwc conv2d_transpose_nchw
            conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw dense_cblas=dense dense_dnnl=dense
            dense_dynamic=dense dense_mkl=dense dense_nopack=dense dense_pack depthwise_conv2d_NCHWc
            depthwise_conv2d_nchw group_conv2d_nchw matmul_cblas=matmul matmul_dnnl=matmul
            matmul_mkl=matmul
        """,
        "tvmlite.tvm.topi.transform": "concatenate",
        "tvmlite.tvm.topi.vision.rcnn": "roi_align_nchw",
    },
    scheduling(__name__),
)
