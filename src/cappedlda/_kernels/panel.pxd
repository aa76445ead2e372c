"""The panel: kept rows, packed until there are enough of them for a product."""

from cython cimport floating

from cappedlda._kernels.blas cimport add_gram
from cappedlda._kernels.tiles cimport Kept, Loops, Panel, padded_size

# Syrk, which packs its panel once more, wants it taller than the tiles do.
cdef enum:
    SYRK_BYTES = 1 << 12


cdef inline void open_panel(
    Panel *panel, const Loops *loops, Py_ssize_t n, Py_ssize_t itemsize, double *scatter,
) noexcept nogil:
    """Set all but the memory of an empty panel."""
    panel.n = n
    panel.ld = padded_size(loops, n)
    panel.filled = 0
    panel.scatter = scatter
    panel.tiled = n <= loops.tiled_columns
    panel.room = loops.panel_rows if panel.tiled else SYRK_BYTES // itemsize


cdef inline void add_gram_by_blas(
    const floating *X, Py_ssize_t rows, Py_ssize_t n, double *out, Py_ssize_t ld, floating *part,
) noexcept nogil:
    """out += X'X for a row-major X; float32 products pass through `part` (n, n)."""
    cdef Py_ssize_t i, k
    if floating is double:
        add_gram(X, out, rows, n, ld, 1.0)
    else:
        add_gram(X, part, rows, n, n, <floating> 0.0)
        for i in range(n):
            for k in range(i, n):
                out[i * ld + k] += part[i * n + k]


cdef inline void flush(const Loops *loops, const floating *tag, Panel *panel) noexcept nogil:
    """Add the panel to the scatter and empty it."""
    if panel.filled == 0:
        return
    if panel.tiled:
        loops.add_gram_of_panel(panel)
    else:
        add_gram_by_blas(<const floating *> panel.rows, panel.filled, panel.n,
                         panel.scatter, panel.ld, <floating *> panel.part)
    panel.filled = 0


cdef inline void add_to_panel(
    const Loops *loops, const floating *X, Kept kept, const floating *centres, Py_ssize_t ldc,
    const floating *inv_scale, const double *roots, Panel *panel,
) noexcept nogil:
    """Pack the kept rows of a block, times their roots."""
    cdef Py_ssize_t left = kept.count
    while left > 0:
        if panel.filled == panel.room:
            flush(loops, X, panel)
        kept.count = min(left, panel.room - panel.filled)
        loops.pack(X, &kept, centres, ldc, inv_scale, roots, panel)
        kept.numbers += kept.count
        left -= kept.count
