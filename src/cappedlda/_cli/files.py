"""The files that a command reads and writes, checked before any work."""

import os
import stat
import sys
from pathlib import Path

from cappedlda._cli.arguments import UsageError

STDIN = "-"
READ = ("model", "data", "labels")  # arguments that are files, unless a command writes them


def check_files(args, command):
    """Refuse files that cannot be written, and files to write that are read or written too."""
    read = [getattr(args, name, None) for name in READ if name not in command.writes]
    seen = {place(sys.stdin): "standard input"} if STDIN in read else {}  # names by their places
    for path in filter(None, read):
        inner = Path(path).iterdir() if os.path.isdir(path) else ()
        seen |= {place(file): file for file in (path, *inner)}
    refuse_shared("standard output", place(sys.stdout), seen)
    for name, suffixes in command.writes.items():
        if (path := getattr(args, name)) is not None:
            option = f"--{name} {path}"
            check_output(option, Path(path), suffixes)
            refuse_shared(option, place(path), seen)
            seen[place(path)] = option


def check_output(option, path, suffixes):
    if suffixes is not None and path.suffix.lower() not in suffixes:
        one_of = "one of " if len(suffixes) > 1 else ""
        raise UsageError(f"{option}: the suffix must be {one_of}{', '.join(suffixes)}")
    if path.is_dir():
        raise ValueError(f"{option}: this is a directory; name a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option}: cannot write to the directory {path.parent}")


def refuse_shared(option, where, seen):
    if where is not None and where in seen:
        raise UsageError(f"{option} is the same file as {seen[where]}; name another file to write")


def place(file):
    """Return what all names of a file share, or None if the file of a stream is not on a disk."""
    is_path = isinstance(file, str | Path)
    try:
        status = os.stat(file if is_path else file.fileno())
    except (OSError, ValueError, AttributeError):
        return os.path.realpath(file) if is_path else None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
