"""``tvm.topi``: operators as tensor expressions, mostly the computes of the matching Relay operators."""

from tvmlite.tvm import lazy

__getattr__, __all__ = lazy.attributes(  # pyright: ignore[reportUnsupportedDunderAll]
    __name__,
    "elements generic image math nn random sparse testing transform utils vision x86",
    {
        "tvmlite.tvm.te": "tag",
        ".elements": """
            adv_index argwhere collapse_sum dft einsum expand_like fixed_point_multiply
            fixed_point_multiply_per_axis invert_permutation matrix_set_diag meshgrid ndarray_size
            scatter scatter_add scatter_elements scatter_nd searchsorted sliding_window
            sparse_reshape sparse_to_dense stft strided_set tensordot unique
        """,
        ".math": """
            abs acos acosh add all any argmax argmin asin asinh atan atanh bitwise_and bitwise_not bitwise_or
            bitwise_xor broadcast_to cast ceil ceil_log2 clip cos cosh divide elemwise_sum equal erf exp
            fast_erf fast_exp fast_tanh floor floor_divide floor_mod full full_like greater greater_equal
            identity isfinite isinf isnan left_shift less less_equal log log10 log2 logical_and
            logical_not logical_or logical_xor max maximum mean min minimum mod multiply negative
            not_equal power prod reinterpret right_shift round rsqrt sigmoid sign sin sinh sqrt
            subtract sum tan tanh trunc
        """,
        ".transform": """
            arange argsort concatenate cumprod cumsum expand_dims flip gather gather_nd layout_transform
            matmul one_hot repeat reshape reverse_sequence sequence_mask shape sort split squeeze stack
            strided_slice take tile topk transpose trilu unravel_index where
        """,
    },
)
