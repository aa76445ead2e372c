"""`cappedlda completion`: what a shell needs to complete commands, options and their values."""

import argparse
import shlex
from typing import NamedTuple

from cappedlda._cli.arguments import Command, argument


class Option(NamedTuple):
    """An option of a command: its names, what it means, and what may follow it."""

    names: tuple
    help: str
    takes_value: bool
    choices: tuple


class Subcommand(NamedTuple):
    """A command: its name, what it does, its options, and the choices of its first argument."""

    name: str
    help: str
    options: tuple
    choices: tuple


def completion(args):
    """Print the code that lets a shell complete commands, options and their values."""
    from cappedlda._cli import parser

    print(SHELLS[args.shell](subcommands(parser())))
    return 0


def subcommands(parser):
    """Return the commands of a parser, as far as completion needs to know them."""
    (action,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in action._choices_actions}
    return [
        Subcommand(
            name,
            helps[name],
            tuple(option_of(sub, a) for a in sub._actions if a.option_strings),
            tuple(
                str(choice)
                for a in sub._actions
                if not a.option_strings and a.choices
                for choice in a.choices
            ),
        )
        for name, sub in action.choices.items()
    ]


def option_of(parser, action):
    """Return an option of a parser."""
    text = parser._get_formatter()._expand_help(action)
    # Marks such as a comma are typed sooner than completed.
    choices = tuple(choice for choice in map(str, action.choices or ()) if choice.isalnum())
    return Option(tuple(action.option_strings), text, action.nargs != 0, choices)


def words(*items):
    """Return words as one word of a shell."""
    return shlex.quote(" ".join(items))


def bash(commands):
    """Return the code for bash."""
    top = words(*(command.name for command in commands), "--help", "--version")
    lines = [
        "_cappedlda() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '  local command="" words=""',
        '  [ "$COMP_CWORD" -gt 1 ] && command="${COMP_WORDS[1]}"',
        "  COMPREPLY=()",
        '  case "$command:$before" in',
    ]
    for command in commands:
        lines += bash_values(command)
    lines += ["    *)", '      case "$command" in', f'        "") words={top} ;;']
    for command in commands:
        names = [name for option in command.options for name in option.names]
        lines.append(f"        {command.name}) words={words(*names, *command.choices)} ;;")
    return "\n".join(
        [
            *lines,
            "      esac ;;",
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            "complete -o default -F _cappedlda cappedlda",
        ]
    )


def bash_values(command):
    """Return the cases of bash for the word after an option."""
    lines, others = [], []
    for option in command.options:
        places = [f"{command.name}:{name}" for name in option.names]
        if option.choices:
            lines.append(f"    {'|'.join(places)}) words={words(*option.choices)} ;;")
        elif option.takes_value:
            others += places
    if others:  # the shell completes the names of files
        lines.append(f"    {'|'.join(others)}) return ;;")
    return lines


def zsh(commands):
    """Return the code for zsh."""
    lines = ["#compdef cappedlda", "_cappedlda() {", "  local -a commands", "  commands=("]
    lines += [f"    {shlex.quote(f'{c.name}:{c.help}')}" for c in commands]
    lines += [
        "  )",
        "  if (( CURRENT == 2 )); then",
        "    _describe command commands",
        "    return",
        "  fi",
        '  local command="$words[2]"',
        "  shift words",
        "  (( CURRENT-- ))",
        '  case "$command" in',
    ]
    for command in commands:
        specs = [zsh_option(name, o) for o in command.options for name in o.names]
        files = f"({' '.join(command.choices)})" if command.choices else "_files"
        specs.append(shlex.quote(f"*:argument:{files}"))
        lines.append(f"    {command.name}) _arguments {' '.join(specs)} ;;")
    return "\n".join([*lines, "  esac", "}", "compdef _cappedlda cappedlda"])


def zsh_option(name, option):
    """Return an option as `_arguments` of zsh takes it."""
    text = "".join(f"\\{c}" if c in "[]:\\" else c for c in option.help)
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
    return shlex.quote(f"*{name}[{text}]{value}")


def fish(commands):
    """Return the code for fish."""
    names = words(*(command.name for command in commands)).strip("'")
    first = f"not __fish_seen_subcommand_from {names}"
    lines = [
        f"complete -c cappedlda -f -n {shlex.quote(first)} -a {c.name} -d {fish_text(c.help)}"
        for c in commands
    ]
    for command in commands:
        when = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.choices:
            lines.append(f"complete -c cappedlda -f {when} -a {words(*command.choices)}")
        for option in command.options:
            flags = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = " -r" if option.takes_value else ""
            value += f" -f -a {words(*option.choices)}" if option.choices else ""
            lines.append(f"complete -c cappedlda {when} {flags}{value} -d {fish_text(option.help)}")
    return "\n".join(lines)


def fish_text(text):
    """Return text as one word of fish, which escapes quotes in its own way."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
COMMAND = Command(
    completion, (argument("shell", choices=tuple(SHELLS), help="the shell: bash, zsh or fish"),)
)
