"""The command `cappedlda`.

A subcommand is one function that takes the parsed arguments and returns the exit status. Its
module holds it, with its arguments, as `COMMAND`; it is listed in `COMMANDS`, and nothing else
has to know about it.
"""

import argparse
import os
import shlex
import sys

from cappedlda import __version__
from cappedlda._cli import apply, demo, fit, info, reproduce
from cappedlda._cli.arguments import UsageError

COMMANDS = {
    "fit": fit.COMMAND,
    **apply.COMMANDS,
    "demo": demo.COMMAND,
    "info": info.COMMAND,
    "reproduce": reproduce.COMMAND,
}


def parser():
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="cappedlda", description="Robust linear discriminant analysis."
    )
    top.add_argument("--version", action="version", version=f"cappedlda {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    for name, command in COMMANDS.items():
        summary = command.run.__doc__.splitlines()[0]
        sub = commands.add_parser(name, help=summary, description=summary)
        for names, options in command.arguments:
            sub.add_argument(*names, **options)
    return top


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : list of str, default=None
        The arguments; None takes those of the process.

    Returns
    -------
    status : int
        0 if all is well, 1 after an error, 2 for wrong usage.
    """
    args = parser().parse_args(argv)
    args.line = shlex.join(["cappedlda", *(sys.argv[1:] if argv is None else argv)])
    try:
        return COMMANDS[args.command].run(args)
    except UsageError as error:
        return failed(args, error, 2)
    except BrokenPipeError:
        # The reader has seen enough; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError) as error:
        return failed(args, error, 1)
    except KeyboardInterrupt:
        return 130


def failed(args, error, status):
    """Print an error as one line and return the exit status."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    message = " ".join(text.split())
    print(f"cappedlda {args.command}: {message}", file=sys.stderr)
    return status
