"""The facts about a model and the rows of a table: as text, as JSON, in a report."""

import numpy as np

from cappedlda._cli.accuracy import summary
from cappedlda._cli.limits import LIMITS
from cappedlda._cli.outliers import explained, n_others_with_wrong_cells
from cappedlda._cli.rows import column_lines
from cappedlda._cli.tables import needs
from cappedlda._cli.writing import to_json
from cappedlda._model.labels import doubts
from cappedlda._model.summary import about_labels, mislabelled_counts
from cappedlda._util.tables import table

MOST_CLASSES = 30  # that are printed
MOST_DOUBTFUL = 20  # rows whose labels are most worth a look
NOT_DOUBTFUL = 0.9995  # quality of a label that is not worth a look


def needs_of_report(task):
    for module in ("matplotlib", "jinja2"):
        needs(module, task)


def tell(args, reader, notes, model, data, warned, progress):
    """Look at all rows, write the report if it is asked for, and print the facts."""
    survey = Survey(model, reader, data, progress)
    facts = {**facts_of(args, reader, notes, model, survey), "warnings": warned}
    if args.report is not None:
        from cappedlda._cli.report import write_report

        ids = reader.kept_at(survey.shown_rows())
        facts["accuracy"] = write_report(
            args.report, model, survey, facts, reader.feature_names(), ids, progress
        )
    print(to_json(facts, indent=2) if args.json else as_text(facts))


class Survey:
    """Counts by class, the most outlying rows, and a sample of all rows."""

    def __init__(self, model, reader, data, progress):
        from pandas import DataFrame, concat

        self.n_rows, n_classes = data.n_rows, len(model.classes_)
        self.counts = np.zeros((3, n_classes), np.int64)  # of all rows, flagged, left out
        self.n_only_left_out = 0  # without being flagged
        self.judged = hasattr(model, "label_status_")
        self.mislabelled = np.zeros(2, np.int64)  # rows that are left out, and others
        self.n_wrong_cells = 0  # rows that have some, but are neither flagged nor left out
        listed, sample, doubtful = [], [], []
        rng = np.random.default_rng(0)
        share = LIMITS.sampled_rows / data.n_rows
        for index, X, y in progress.count(data.blocks(), "Looking at all rows"):
            found = explained(model, reader, X, y)
            flagged, left_out = np.zeros((2, len(y)), bool)
            flagged[found["row"]] = found["flagged"]
            left_out[found["row"]] = found["left_out"]
            codes = np.searchsorted(model.classes_, y)
            groups = (codes, codes[flagged], codes[left_out])
            self.counts += [np.bincount(group, minlength=n_classes) for group in groups]
            self.n_only_left_out += int(np.sum(left_out & ~flagged))
            self.n_wrong_cells += n_others_with_wrong_cells(model, X, y, found["row"])
            listed.append(most_outlying(found.assign(row=index[found["row"]])))
            if self.judged:
                labels = doubts(model, X, y)
                self.mislabelled += mislabelled_counts(labels["mislabelled"], labels["left_out"])
                known = {"row": index, "class": y, "predicted": model.predict(X)}
                doubtful.append(most_doubtful(DataFrame(known | labels)))
            chosen = rng.random(len(y)) < share
            sample.append((X[chosen], y[chosen], left_out[chosen]))
        self.listed = most_outlying(concat(listed))
        self.doubtful = most_doubtful(concat(doubtful)) if self.judged else None
        # The sample, all rows if they are few, and which of them are left out.
        self.X, self.y, self.left_out = map(np.concatenate, zip(*sample, strict=True))

    def shown_rows(self):
        listed = self.listed["row"].to_numpy()
        return np.union1d(listed, self.doubtful["row"]) if self.judged else listed


def most_outlying(found):
    return found.sort_values("outlyingness", ascending=False, kind="stable")[: LIMITS.listed_rows]


def most_doubtful(labels):
    """Return the rows most worth a look: outliers, which fit no class well, come last."""
    doubtful = (labels["quality"] < NOT_DOUBTFUL) & (labels["predicted"] != labels["class"])
    found = labels[labels["mislabelled"] | doubtful]
    order = found.sort_values(["mislabelled", "quality"], ascending=[False, True], kind="stable")
    return order[:MOST_DOUBTFUL]


def facts_of(args, reader, notes, model, survey):
    names = ("class", "rows", "flagged", "left_out")
    classes = zip(model.classes_.tolist(), *survey.counts.tolist(), strict=True)
    _, n_flagged, n_left_out = survey.counts.sum(axis=1).tolist()
    return {
        "command": args.line,
        "fitted": args.command == "fit",
        "data": reader.table.label,
        "target": args.target or notes.get("target"),
        "rows": survey.n_rows,
        "skipped": reader.n_skipped,
        "features": len(reader.feature_names()),
        **reader.column_facts(),
        "classes": [dict(zip(names, counts, strict=True)) for counts in classes],
        "flagged": n_flagged,
        "left_out": n_left_out,
        "left_out_not_flagged": survey.n_only_left_out,
        **({"labels": label_facts(model, survey)} if survey.judged else {}),
        "status": model.status_,
        "epsilon": model.epsilon_,
        "iterations": model.n_iter_,
        "parameters": parameters(model),
        "model": args.model,
        "report": args.report,
    }


def label_facts(model, survey):
    return {
        "status": model.label_status_,
        "rate": model.label_noise_,
        "mislabelled": int(survey.mislabelled.sum()),
        "mislabelled_left_out": int(survey.mislabelled[0]),
    }


def label_line(labels):
    n_left_out = labels["mislabelled_left_out"]
    counts = n_left_out, labels["mislabelled"] - n_left_out
    return f"Wrong labels: {about_labels(labels['status'], labels['rate'], counts)}."


def parameters(model):
    chosen = ("best_multiplier_", "best_n_components_", "best_score_")
    found = model.get_params() | {name: vars(model)[name] for name in chosen if name in vars(model)}
    return {name: str(value) if value == np.inf else value for name, value in found.items()}


def as_text(facts):
    classes = facts["classes"]
    lines = [f"{facts['data']}: {facts['rows']} rows, {facts['features']} features"]
    if facts["skipped"]:
        lines[0] += f"; {facts['skipped']} rows with missing values ignored"
    lines += column_lines(facts)
    counts = ("rows", "flagged", "left_out")
    total = {"class": "all", **{name: sum(row[name] for row in classes) for name in counts}}
    shown = sorted(classes, key=lambda row: -row["flagged"])[:MOST_CLASSES]
    shown = [row for row in classes if row in shown]
    named = [{name.replace("_", " "): row[name] for name in total} for row in [*shown, total]]
    lines += ["", table(named), ""]
    if len(classes) > len(shown):
        lines.append(f"{len(classes) - len(shown)} classes with fewer flagged rows not shown.")
    if facts["flagged"] or facts["left_out"]:
        lines += [meaning(facts), ""]
    if "labels" in facts:
        lines += [label_line(facts["labels"]), ""]
    lines.append(
        f"{facts['status']}, iterations: {facts['iterations']}, epsilon: {facts['epsilon']:.3g}"
    )
    chosen = facts["parameters"]
    if "best_score_" in chosen:
        lines.append(
            "Chosen by cross-validation: {best_multiplier_} times the automatic epsilon, "
            "directions: {best_n_components_}; score {best_score_:.3f}".format(**chosen)
        )
    if "accuracy" in facts:
        lines += ["", summary(facts["accuracy"]), ""]
    written = {"Model": facts["model"], "Report": facts["report"]}
    lines += [f"{name}: {path}" for name, path in written.items() if path is not None]
    return "\n".join(lines)


def meaning(facts):
    # A table that a model is applied to may or may not be the one that it was fitted to.
    used = "were not used to fit the model"
    kind = "are of the kind that the fit did not use"
    text = f"Flagged rows are unusual. Rows left out {used if facts['fitted'] else kind}."
    if n := facts["left_out_not_flagged"]:
        are = f"{n} rows are" if n > 1 else "1 row is"
        text += f" {are} left out but not flagged: harmful to the fit, but not very unusual."
    return text
