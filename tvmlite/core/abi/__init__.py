"""The calling convention that both code generators emit and the runtime calls.

A compiled function is ``int32_t NAME(parameters...)``, parameters in the order of its
``Signature``:

- ``input``, ``output``: a pointer to the first element of a dense row-major array, aligned to
  its element. Inputs are read-only; no output overlaps another parameter.
- ``scalar``: a value the caller gives, of the parameter's dtype (halves as their bits).
- ``size``: an ``int64_t``, the value of a size variable (``h``, ``w``, ``batch``, ...), which the
  runtime reads off the arrays' shapes.
- ``workspace``: a pointer to scratch memory, aligned to 64 bytes, of the size that
  ``NAME_shapes`` (or ``Signature.workspace``, when static) gives; may be null if that is 0.
- ``threads``: an ``int64_t``, the number of threads the workspace was sized for.
- ``dynamic_outputs``: a pointer to ``int64_t``, and ``capacity``: an ``int64_t``, the bytes of the workspace:
  only where extents come from the data. What ``NAME_shapes`` gives is then the least to begin with. When
  more is needed, the entry writes how much to ``dynamic_outputs[0]`` and returns the code of ``TOO_SMALL``:
  bring a larger workspace and call again (a negative number is more than any memory has).
- ``found``: not passed: an output whose extents come from the data. The entry leaves it in the workspace; for
  each, in order, ``dynamic_outputs`` has from element 1 on the byte of the workspace where it begins, and its
  extents.
- ``profile``: a nullable pointer to ``int64_t``; an entry writes the nanoseconds of its k-th
  kernel to element k.

It returns 0, or a positive code whose message is ``Signature.messages[code - 1]``.

When any shape or the workspace depends on a size, the library also has
``int32_t NAME_shapes(int64_t *out, int64_t threads, int64_t size0, ...)``
(sizes are those parameters, of kind scalar or size, that shapes depend on: ``shape_sizes``): it writes
the extents of all inputs and outputs (that are passed), in order, and then the bytes of workspace.

Parallel loops call ``int32_t tvmlite_parallel_for(body, closure, extent)`` with
``int32_t body(void *closure, int64_t begin, int64_t end, int64_t thread)``, where ``thread`` is in
``[0, threads)``; the first non-zero return wins. Those that read much, run after run, call ``tvmlite_sweep``
instead, which takes every second run from the end; an entry with such kernels counts its runs by
``void tvmlite_next_run(uint32_t *runs)``. Entries call ``int64_t tvmlite_now(void)``, a
monotonic clock in nanoseconds, when profiling, and in loops without a number of turns, which have a limit in
time. All are part of the thread pool's source.

Constants of a model live in one blob, the external symbol ``NAME_constants``, aligned to 64 bytes.
"""
