"""The command `cappedlda`: each subcommand is a `Command` of its module, listed in `COMMANDS`."""

import argparse
import os
import shlex
import signal
import sys
import threading
from contextlib import contextmanager

from cappedlda import __version__
from cappedlda._cli import apply, demo, fit, info, outliers, report, reproduce
from cappedlda._cli.arguments import Command, UsageError, argument
from cappedlda._cli.files import check_files
from cappedlda._cli.tables import needs
from cappedlda._util.files import FULL

FILES = ("FILE", "DIR", "DATA", "MODEL")  # what is called so in the help is a file
SHELLS = ("bash", "zsh", "fish", "tcsh")


def completion(args):
    """Print shell code that completes commands, options and file names."""
    needs("shtab", "Completion")
    import shtab

    print(shtab.complete(parser(files=shtab.FILE), args.shell))


SHELL = argument("SHELL", f"the shell: {', '.join(SHELLS)}", choices=SHELLS)
COMMANDS = {
    "fit": fit.COMMAND,
    **apply.COMMANDS,
    "outliers": outliers.COMMAND,
    "report": report.COMMAND,
    "demo": demo.COMMAND,
    "info": info.COMMAND,
    "completion": Command(completion, (SHELL,)),
    "reproduce": reproduce.COMMAND,
}


def parser(files=None):
    """Return the parser of the command line; `files` tells shtab how to complete file names."""
    top = argparse.ArgumentParser(
        prog="cappedlda",
        description="Robust linear discriminant analysis: fit a model to a table that has wrong "
        "rows, and find them.",
        epilog="Start with: cappedlda fit data.csv --target COLUMN --model model.npz --report "
        "report.html",
    )
    top.add_argument("--version", action="version", version=f"cappedlda {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command")
    for name, command in COMMANDS.items():
        summary = command.run.__doc__.splitlines()[0]
        sub = commands.add_parser(name, help=summary, description=summary)
        places = {None: sub}
        for heading, name, options in command.arguments:
            if heading not in places:
                places[heading] = sub.add_argument_group(heading)
            action = places[heading].add_argument(name, **options)
            if files is not None and action.metavar in FILES:
                action.complete = files
    return top


def main(argv=None):
    """Run the command line; return 0 if all is well, 1 after an error, 2 for wrong usage."""
    args = parser().parse_args(argv)
    if args.command is None:
        parser().print_help()
        return 0
    args.line = shlex.join(["cappedlda", *(sys.argv[1:] if argv is None else argv)])
    try:
        with ending_when_told():
            check_files(args, COMMANDS[args.command])
            status = COMMANDS[args.command].run(args)
            sys.stdout.flush()
            return status or 0
    except UsageError as error:
        return failed(args, error, 2)
    except BrokenPipeError:  # the reader has seen enough
        discard_output()
        return 1
    except (ValueError, OSError) as error:
        return failed(args, error, 1)
    except MemoryError as error:
        return failed(args, f"not enough memory: {error}", 1)
    except KeyboardInterrupt:
        return 130


@contextmanager
def ending_when_told():
    """Let SIGTERM raise SystemExit, so that unfinished files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return

    def end(number, frame):
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def discard_output():
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def failed(args, error, status):
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.errno in FULL:
        text = f"standard output: {error.strerror}"
        discard_output()
    message = " ".join(text.split())
    print(f"cappedlda {args.command}: {message}", file=sys.stderr)
    return status
