"""Files that are written whole, or not at all."""

import errno
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

# What the system says when a file cannot grow; it does not say which file.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def replacing(path):
    """Give a name to write to; what is written takes the place of the file if all goes well.

    If anything goes wrong, an older file of that name stays as it was. A link is followed, so
    that it stays a link. What is not a file, for example a device, is written to directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in FULL or error.filename in (temporary, str(temporary)):
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
