"""The command `cappedlda`.

A subcommand is one function that takes the parsed arguments and returns the exit status. Its
module holds it, with its arguments, as `COMMAND`; it is listed in `COMMANDS`, and nothing else
has to know about it.
"""

import argparse
import sys

from cappedlda import __version__
from cappedlda._cli import demo, info, reproduce

COMMANDS = {"demo": demo.COMMAND, "info": info.COMMAND, "reproduce": reproduce.COMMAND}


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
        0 if all is well, 1 after an error. Wrong usage exits with 2.
    """
    args = parser().parse_args(argv)
    try:
        return COMMANDS[args.command].run(args)
    except (ValueError, OSError) as error:
        print(f"cappedlda {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
