"""Which columns of a table a command reads, and as what: for a fit, and for a fitted model."""

import sys

import numpy as np

from cappedlda._cli.arguments import UsageError
from cappedlda._cli.dialects import Notation
from cappedlda._cli.formats import arrays_in, open_table, read_array, suffix_of
from cappedlda._cli.recipe import advice, learn_recipe, sort_columns
from cappedlda._cli.rows import RowReader
from cappedlda._cli.tables import columns_of, refuse_repeated
from cappedlda._model_file.recipe import Recipe

# Columns that transform, predict and outliers write under fixed names.
RESULT_NAMES = frozenset(
    ["row", "prediction", "ignored", "rejected", "class", "predicted", "flagged", "left_out"]
    + ["beyond", "outlyingness", "wrong_cells"]
)


def text_options(args):
    names = ("delimiter", "encoding", "decimal", "thousands", "na")
    return {"header": not args.no_header, **{name: getattr(args, name) for name in names}}


def training_reader(args, labels, progress):
    table = open_table(args.data, key=args.key, sheet=args.sheet, **text_options(args))
    keep = table.find_all(args.keep, "--keep")
    if clash := RESULT_NAMES.intersection(keep):
        raise UsageError(
            f"--keep {min(clash)}: results have a column of that name; rename it in the table."
        )
    target, name = find_target(args, table)
    if args.thousands is None and table.notation.thousands is not None:
        progress.say(f"Numbers in {table.label} are read with {table.notation}")
    columns = feature_columns(args, table, target)
    if not columns:
        raise ValueError(f"{table.label} has no column left for features.")
    recipe = training_recipe(args, table, columns, target, progress)
    reader = RowReader(table, recipe, target, labels, keep, args.skip_missing)
    if not reader.feature_names():
        raise ValueError(f"{table.label} has no feature left that varies.")
    refuse_repeated(f"With --encode, {table.label}", reader.feature_names())
    return reader, {
        "target": name,
        "target_position": next(map(table.columns.index, columns_of(target)), None),
        "n_columns": len(table.columns),
        "columns": [table.columns.index(column) for column in recipe.columns],
        "keep": list(map(str, keep)),
        "na": args.na,
        "notation": list(table.notation),
    }


def feature_columns(args, table, target):
    unused = [*table.find_all(args.drop, "--drop"), *table.find_all(args.keep, "--keep")]
    return [j for j in table.columns if j not in [*unused, *columns_of(target)]]


def with_advice(error, args):
    table = error.table
    columns = feature_columns(args, table, find_target(args, table)[0])
    given = {"--encode"} if args.encode else set()
    given |= {"--impute"} if args.impute or args.missing else set()
    options = advice(table, columns, given)
    return ValueError(f"{error} Try adding: {options}" if options else str(error))


def training_recipe(args, table, columns, target, progress):
    """Return how columns become features, learnt from all rows if anything has to be learnt."""
    declared = table.find_all(args.categories, "--categories")
    if other := [j for j in declared if j not in columns]:
        raise UsageError(f"{table.option('--categories', other)}: this is not a feature")
    logs = table.find_all(args.log, "--log")
    keep_gaps = args.missing == "ignore"
    if not (declared or args.encode or args.impute or logs):
        return Recipe(columns, keep_gaps=keep_gaps)
    numbers, categories = sort_columns(table, columns, declared, args.encode)
    if other := [j for j in logs if j not in numbers]:
        raise UsageError(f"{table.option('--log', other)}: this is not a numeric column")
    table.encoded = args.encode
    blocks = table.blocks(numbers, categories, target)
    blocks = progress.count(blocks, "Learning categories and medians")
    found = learn_recipe(table, numbers, categories, logs, blocks, args.impute is not None)
    return found._replace(keep_gaps=keep_gaps)


def find_target(args, table):
    """Return the column of the labels, or the labels themselves, and their name."""
    if args.labels is not None:
        return read_labels(args), args.target
    name = "y" if args.target is None else args.target
    arrays = arrays_in(args.data)
    if name in arrays:
        return label_array(args.data, name), name
    if args.target is None:
        raise UsageError("give the column of the classes: --target COLUMN")
    if arrays and not name.removeprefix("-").isdecimal():
        known = ", ".join(map(repr, arrays))
        raise ValueError(f"{args.data} has no array {name!r} for --target; it has {known}.")
    column = table.find(args.target, "--target")
    return column, str(column)


def read_labels(args):
    if suffix_of(args.labels) in (".npy", ".npz"):
        return label_array(args.labels, args.target or "y")
    table = open_table(args.labels, **text_options(args))
    if args.target is not None:
        column = table.find(args.target, "--target")
    elif len(table.columns) == 1:
        (column,) = table.columns
    else:
        n_columns = len(table.columns)
        raise UsageError(f"{args.labels} has {n_columns} columns: choose one with --target")
    blocks = [block.labels for block in table.blocks([], target=column)]
    return np.concatenate(blocks) if blocks else np.empty(0)


def label_array(path, key):
    values = read_array(path, key)
    if values.ndim != 1:
        raise ValueError(f"{path} has labels of shape {values.shape}; give one label per row.")
    return values


def applied_reader(args, recipe, notes, labels=None, keep=None):
    """Return the reader for a fitted model; columns go by name if file and model have names."""
    text = text_options(args) | {"na": [*args.na, *notes.get("na", [])]}
    if "notation" in notes:
        text["notation"] = Notation(*notes["notation"])
    table = open_table(args.data, key=args.key, sheet=args.sheet, **text)
    table.may_drop = False
    if keep:
        kept = table.find_all(keep, "--keep")
    else:  # an array takes values only
        kept = [] if suffix_of(args.out or "") == ".npy" else noted_keep(table, notes)
    if table.has_names and all(isinstance(column, str) for column in recipe.columns):
        check_columns(table, recipe)
    else:
        recipe = recipe.renamed(placed_columns(args, table, recipe, notes))
    target = None if labels is None else known_target(args, table, notes)
    return RowReader(table, recipe, target, labels, kept, args.skip_missing)


def noted_keep(table, notes):
    """Return the columns that the fit was told to keep; say which ones a table lacks."""
    comparable = table.has_names or is_alike(table, notes)
    known = {str(column): column for column in table.columns} if comparable else {}
    wanted = notes.get("keep", [])
    for name in wanted:
        if name not in known:
            print(f"{table.label} has no column {name!r}, which the fit kept.", file=sys.stderr)
    return [known[name] for name in wanted if name in known]


def is_alike(table, notes):
    return len(table.columns) == notes.get("n_columns")


def check_columns(table, recipe):
    if missing := [name for name in recipe.columns if name not in table.columns]:
        more = f" (and lacks {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise ValueError(
            f"{table.label} has no column {missing[0]!r}, which the model was fitted to{more}; "
            "rename the columns, or fit a model to this file."
        )


def placed_columns(args, table, recipe, notes):
    """Return the place of each column of a recipe where names do not tell."""
    places = notes.get("columns", range(len(recipe.columns)))  # in the training file
    dropped = table.find_all(args.drop, "--drop")
    columns = table.columns
    if dropped or not is_alike(table, notes):
        columns = [column for column in table.columns if column not in dropped]
        if len(columns) != len(places):
            raise ValueError(
                f"{table.label} has {len(columns)} columns, but the model was fitted to "
                f"{len(places)}; leave others out with --drop."
            )
        places = np.argsort(np.argsort(places))
    return {column: columns[k] for column, k in zip(recipe.columns, places, strict=True)}


def known_target(args, table, notes):
    """Return the labels as asked for, or where they were in training."""
    if args.labels is not None or args.target is not None:
        return find_target(args, table)[0]
    name = notes.get("target")
    if name is not None and name in arrays_in(args.data):
        return label_array(args.data, name)
    if table.has_names:
        return name if name in table.columns else None
    return notes.get("target_position") if is_alike(table, notes) else None
