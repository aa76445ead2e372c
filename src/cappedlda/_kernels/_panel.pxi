# The panel: kept rows, centred, scaled and weighted, packed until there are enough of them for
# a product.

# Syrk, which packs its panel once more, wants it taller than the tiles do, whose sizes are in
# _tiles.h.
cdef enum:
    SYRK_BYTES = 1 << 12
    CACHE_LINE = 64


cdef inline size_t aligned(size_t address) noexcept nogil:
    """The next begin of a cache line: a vector that lies across two is read at half the speed."""
    return (address + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE


cdef inline void *carve(size_t *address, Py_ssize_t count, Py_ssize_t itemsize) noexcept nogil:
    """Take some cache lines from the memory at `address`."""
    cdef void *piece = <void *> address[0]
    address[0] = aligned(address[0] + count * itemsize)
    return piece


cdef inline void pack_vector(
    const floating *x, const floating *centre, const floating *inv_scale, floating root,
    floating *packed,
) noexcept nogil:
    """packed = (x - centre) * inv_scale * root, one vector of it."""
    if floating is double:
        (<dvec *> packed)[0] = (((<const dvec *> x)[0] - (<const dvec *> centre)[0])
                                * (<const dvec *> inv_scale)[0] * root)
    else:
        (<fvec *> packed)[0] = (((<const fvec *> x)[0] - (<const fvec *> centre)[0])
                                * (<const fvec *> inv_scale)[0] * root)


cdef inline void pack_stretch(
    const floating *x, const floating *centre, const floating *inv_scale, floating root,
    Py_ssize_t n, floating *packed,
) noexcept nogil:
    """Pack n numbers; the last vector overlaps the one before, not to end on single ones."""
    cdef Py_ssize_t size = lanes(packed), k = 0
    while k + size <= n:
        pack_vector(x + k, centre + k, inv_scale + k, root, packed + k)
        k += size
    if k < n and size <= n:
        k = n - size
        pack_vector(x + k, centre + k, inv_scale + k, root, packed + k)
    elif k < n:
        for k in range(n):
            packed[k] = (x[k] - centre[k]) * inv_scale[k] * root


cdef struct Panel:
    void *memory
    void *rows            # packed rows, as slivers or row-major
    void *part            # (n, n), where float32 goes through syrk
    Py_ssize_t room       # rows that fit
    Py_ssize_t filled     # rows packed so far
    Py_ssize_t n          # columns,
    Py_ssize_t ld         # padded
    bint tiled            # tiles, or syrk
    double *scatter       # (ld, ld), where a full panel is added


cdef inline void pack_row(
    const floating *x, const floating *centre, const floating *inv_scale, floating root,
    const Panel *panel,
) noexcept nogil:
    """Write one row behind those that are in the panel."""
    cdef floating *packed = <floating *> panel.rows
    cdef floating *sliver
    cdef Py_ssize_t size = lanes(packed), k = 0, width, n = panel.n, position = panel.filled
    if not panel.tiled:
        pack_stretch(x, centre, inv_scale, root, n, packed + position * n)
        return
    while n - k > 4 * size:  # slivers of three whole vectors, without a test for the end
        sliver = packed + k * panel.room + 3 * size * position
        pack_vector(x + k, centre + k, inv_scale + k, root, sliver)
        k += size
        pack_vector(x + k, centre + k, inv_scale + k, root, sliver + size)
        k += size
        pack_vector(x + k, centre + k, inv_scale + k, root, sliver + 2 * size)
        k += size
    while k < n:
        width = size * next_width((n - k + size - 1) // size)
        pack_stretch(x + k, centre + k, inv_scale + k, root, min(width, n - k),
                     packed + k * panel.room + width * position)
        k += width


cdef void flush(const floating *tag, Panel *panel) noexcept nogil:
    """Add the panel to the scatter and empty it."""
    if panel.filled == 0:
        return
    if panel.tiled:
        add_gram_of_slivers(<const floating *> panel.rows, panel.room, panel.filled, panel.n,
                            panel.scatter, panel.ld)
    else:
        add_gram_by_blas(<const floating *> panel.rows, panel.filled, panel.n,
                         panel.scatter, panel.ld, <floating *> panel.part)
    panel.filled = 0


cdef void add_to_panel(
    const floating *X, const int32_t *codes, const double *roots, const int32_t *chosen,
    Py_ssize_t count, const floating *centres, Py_ssize_t ldc, const floating *inv_scale,
    Panel *panel, Py_ssize_t ahead,
) noexcept nogil:
    """Pack the chosen rows of a block, times their roots, and ask for those `ahead` of them."""
    cdef Py_ssize_t p, j
    for p in range(count):
        if panel.filled == panel.room:
            flush(X, panel)
        j = chosen[p]
        if ahead > 0:
            fetch_ahead(X + (j + ahead) * panel.n, panel.n * sizeof(floating))
        pack_row(X + j * panel.n, centres + codes[j] * ldc, inv_scale,
                 <floating> roots[j], panel)
        panel.filled += 1


cdef size_t lay_out_panel(Panel *panel, size_t address, Py_ssize_t itemsize) noexcept nogil:
    """Place the arrays of a panel one after the other; returns the end."""
    cdef bint through_part = itemsize == 4 and not panel.tiled
    panel.rows = carve(&address, panel.room * panel.ld, itemsize)
    panel.part = carve(&address, panel.n * panel.n if through_part else 0, itemsize)
    return address


cdef bint open_panel(
    Panel *panel, Py_ssize_t n, Py_ssize_t itemsize, double *scatter,
) noexcept nogil:
    """Allocate a panel; false when memory is short."""
    panel.n = n
    panel.ld = padded_size(n, DLANES if itemsize == 8 else FLANES)
    panel.filled = 0
    panel.scatter = scatter
    panel.tiled = HAVE_TILES and n <= (TILED_DOUBLES if itemsize == 8 else TILED_FLOATS)
    panel.room = SYRK_BYTES // itemsize
    if panel.tiled:
        panel.room = PANEL_DOUBLES if itemsize == 8 else PANEL_FLOATS
    panel.memory = NULL
    if scatter == NULL:
        return True
    panel.memory = calloc(lay_out_panel(panel, CACHE_LINE, itemsize), 1)
    lay_out_panel(panel, aligned(<size_t> panel.memory), itemsize)
    return panel.memory != NULL
