"""Threads: how many, BLAS held at one, and an ordered parallel map."""

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain, islice
from numbers import Integral

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

# Seconds to wait for a result before looking whether the threads are alive.
PATIENCE = 5.0


def effective_n_jobs(n_jobs):
    """Return the number of threads for `n_jobs`; negative values count back from all."""
    if n_jobs is None:
        return _usable_cores()
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise TypeError(f"n_jobs={n_jobs!r} must be an integer or None.")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 means no thread at all; use None, a positive or a negative int.")
    return n_jobs if n_jobs > 0 else max(1, _usable_cores() + 1 + n_jobs)


@cache
def _usable_cores():
    # Counted once: reading the limits of the system takes longer than a pass over few rows.
    return cpu_count()


@cache
def _blas_libraries():
    # Found once, at first use: looking through the loaded libraries takes milliseconds.
    import scipy.linalg  # noqa: F401  (loads the BLAS that the kernels call)

    return ThreadpoolController().select(user_api="blas").lib_controllers


def blas_threads():
    counts = (library.get_num_threads() for library in _blas_libraries())
    return max((count for count in counts if count is not None), default=1)


def _release_control(library):
    # Since threadpoolctl 3.8 only the thread that set a limit may change it, until it
    # is told to let go. The last user of the guard need not be the first.
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


class _BlasGuard:
    """Holds BLAS at one thread while anybody needs it; the last one out restores it.

    The limit belongs to the whole process, so all fits share one guard.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self.users = 0
        self._limited = []

    def enter(self):
        with self._lock:
            self.users += 1
            if self.users == 1:
                threads = [(library, library.get_num_threads()) for library in _blas_libraries()]
                self._limited = [(library, n) for library, n in threads if n is not None and n > 1]
                for library, _ in self._limited:
                    library.set_num_threads(1)

    def leave(self):
        with self._lock:
            self.users -= 1
            if self.users == 0:
                for library, n in self._limited:
                    _release_control(library)
                    library.set_num_threads(n)
                    _release_control(library)


_guard = _BlasGuard()


@contextmanager
def single_threaded_blas():
    """Keep BLAS at one thread in this process; nests, and is safe from several threads."""
    try:
        _guard.enter()
        yield
    finally:
        _guard.leave()


def fair_share(n_jobs):
    """Return how many threads one of several fits at once may take, `n_jobs` at most."""
    return n_jobs if _guard.users < 2 else max(1, min(n_jobs, _usable_cores() // _guard.users))


def ordered_map(function, items, n_jobs):
    """Yield `function(item)` in order, with at most `n_jobs + 1` results waiting."""
    n_jobs = fair_share(n_jobs)
    if n_jobs == 1:  # each item is done with before the next one is asked for
        yield from map(function, items)
        return
    items = iter(items)
    head = list(islice(items, 2))
    if len(head) < 2:
        yield from map(function, head)
        return
    with worker_threads(n_jobs) as (submit, result):
        waiting = deque()
        for item in chain(head, items):
            waiting.append(submit(function, item))
            if len(waiting) > n_jobs:
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())


def read_ahead(items, depth=2):
    """Yield what an iterator gives; a thread asks for some items ahead."""
    items, end = iter(items), object()
    with worker_threads(1) as (submit, result):
        ahead = deque(submit(next, items, end) for _ in range(depth))
        while (item := result(ahead.popleft())) is not end:
            ahead.append(submit(next, items, end))
            yield item


@contextmanager
def worker_threads(n_jobs):
    """Give a function that submits a task to threads, and one that waits for its result.

    A thread that cannot begin, or that has died, is a MemoryError; the executor alone would wait
    forever.
    """
    threads = []
    pool = ThreadPoolExecutor(
        n_jobs, initializer=lambda: threads.append(threading.current_thread())
    )

    def submit(function, *items):
        try:
            return pool.submit(function, *items)
        except RuntimeError as error:
            raise MemoryError(f"{error}: there is no memory for it; use n_jobs=1") from error

    def result(future):
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if future.done():  # by now, or the task itself has raised it
                    return future.result()
            if not all(thread.is_alive() for thread in threads):
                raise MemoryError("a thread of the fit has died; there is too little memory")

    try:
        yield submit, result
    finally:
        # Also on an interrupt: nothing new starts, and no thread outlives the fit.
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def shared_threads(n_jobs):
    """Give `map`, or the same on threads that last for the block; its results have to be read."""
    n_jobs = fair_share(n_jobs)
    if n_jobs == 1:
        yield map
        return
    with worker_threads(n_jobs) as (submit, result):

        def each(function, *items):
            tasks = list(map(partial(submit, function), *items))
            return [result(task) for task in tasks]

        yield each
