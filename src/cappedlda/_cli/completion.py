"""`cappedlda completion`: what a shell needs to complete commands, options and their values."""

from cappedlda._cli.arguments import Command, argument
from cappedlda._cli.tables import needs

SHELLS = ("bash", "zsh", "fish", "tcsh")


def completion(args):
    """Print shell code that completes commands, options and file names."""
    needs("shtab", "Completion")
    import shtab

    from cappedlda._cli import parser

    print(shtab.complete(parser(files=shtab.FILE), args.shell))
    return 0


COMMAND = Command(
    completion, (argument("SHELL", f"the shell: {', '.join(SHELLS)}", choices=SHELLS),)
)
