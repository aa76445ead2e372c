"""Accuracy by cross-validation, beside that of plain LDA, on rows that may be dirty too."""

import warnings

import numpy as np

from cappedlda._util.tables import table

FOLDS = 5
MOST_CLASSES = 20  # in a confusion matrix
WHY = "CappedLDA does not fit the wrong rows, so it may misclassify them."
HOW = (
    "Held-out rows may be wrong too, so there are two scores: on all of them, and without the "
    "flagged ones. A held-out row is flagged if its outlyingness is above 1 in the "
    "CappedLDA fitted to the training rows of the fold (at most the farther half of the rows). "
    "Plain LDA is scikit-learn's, scored on the same rows. If the two scores differ a lot, "
    "look at the flagged rows."
)


def cross_validate(model, X, y, progress):
    """Return the accuracy of a model and of plain LDA on the same folds, or what prevents it."""
    from sklearn.base import clone
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.impute import SimpleImputer
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline

    smallest = int(np.unique(y, return_counts=True)[1].min())
    n_folds = min(FOLDS, max(2, smallest))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    facts = {"rows": len(y), "folds": n_folds}
    gaps = bool(np.isnan(X).any())
    plain = make_pipeline(SimpleImputer(strategy="median"), LinearDiscriminantAnalysis())
    scores, shares, guesses = [], [], np.empty_like(y)
    with warnings.catch_warnings():
        # Small classes and collinear features: the fit to all rows has warned already.
        warnings.simplefilter("ignore")
        try:
            for k, (train, test) in enumerate(folds.split(X, y), start=1):
                progress.say(f"Cross-validation: fold {k} of {n_folds}")
                capped = clone(model).fit(X[train], y[train])
                plain = clone(plain).fit(X[train], y[train])
                belongs = belonging(capped, X[test], y[test])
                shares.append(belongs.mean())
                guesses[test] = capped.predict(X[test])
                hits = [guesses[test] == y[test], plain.predict(X[test]) == y[test]]
                scores.append([(hit[belongs].mean(), hit.mean()) for hit in hits])
        except ValueError as error:
            return {**facts, "problem": " ".join(str(error).split())}
    scores = np.array(scores)  # folds, methods, ways to score
    means, errors = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(n_folds)
    keys = ("accuracy", "accuracy_all_rows", "standard_error", "standard_error_all_rows")
    names = (type(model).__name__, "plain LDA, gaps filled in" if gaps else "plain LDA")
    found = zip(names, means.tolist(), errors.tolist(), strict=True)
    return {
        **facts,
        "belonging": float(np.mean(shares)),
        "methods": [
            {"method": name, **dict(zip(keys, mean + error, strict=True))}
            for name, mean, error in found
        ],
        "confusion": confusion(y, guesses),
    }


def confusion(y, guesses):
    """Return how many rows of each class (line) are predicted as which (column); None of many."""
    from sklearn.metrics import confusion_matrix

    classes = np.unique(y)
    if len(classes) > MOST_CLASSES:
        return None
    counts = confusion_matrix(y, guesses, labels=classes)
    return {"classes": classes.tolist(), "counts": counts.tolist()}


def belonging(model, X, y):
    """Tell which rows belong to their class; at least the nearer half."""
    ratio = np.full(len(y), np.inf)
    known = np.isin(y, model.classes_)
    ratio[known] = model.outlyingness(X[known], y[known])
    return ratio <= max(1.0, np.median(ratio))


def summary(facts):
    if "problem" in facts:
        return f"No cross-validation: {facts['problem']}"
    not_flagged = f"rows not flagged ({facts['belonging']:.1%})"
    rows = [
        {
            f"accuracy in {facts['folds']} folds": rows,
            **{method["method"]: f"{method[key]:.1%}" for method in facts["methods"]},
        }
        for rows, key in (("all rows", "accuracy_all_rows"), (not_flagged, "accuracy"))
    ]
    return "\n\n".join([table(rows), *why(facts)])


def why(facts):
    """Return why the score on all rows is below that of plain LDA, where it is."""
    scores = [method["accuracy_all_rows"] for method in facts.get("methods", ())]
    return [WHY] if scores and scores[0] < scores[1] else []
