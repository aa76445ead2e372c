"""Wrong labels in a fit: rows with a doubtful label count for less in the last LDA."""

from dataclasses import replace

import numpy as np

from cappedlda._fit.reweighting import solution_of
from cappedlda._loo.labels import LEAST_JUDGED, LEAST_PER_FEATURE, label_noise
from cappedlda._metrics.shrinkage import MOST_SHRUNK


def noise_of_labels(prepared, reweighted, kept, options):
    """Return the `LabelNoise` of the sample, or of all rows if there is none.

    `reweighted` is LDA on the `kept` rows of the sample (N,) or on their core.
    """
    answer, sample = reweighted.answer, prepared.all_sample
    units = answer.centres, np.where(answer.flat, np.inf, answer.scale)
    shrinkage = min(reweighted.shrinkage, MOST_SHRUNK)
    shrunk = {"n_features": reweighted.frame.n_features, "shrinkage": shrinkage}
    totals = prepared.all_rows.class_weights
    rate = None if options.label_noise == "auto" else float(options.label_noise)
    if prepared.n_sampled == 0:
        return label_noise(sample, kept, units, totals, rate, **shrunk)
    some = judged_rows(sample)
    labels = label_noise(sample.take(some), kept[some], units, totals, rate, **shrunk)
    weights = labels.rule.weights(sample.X, sample.codes)
    quality, likely = prepared.all_rows.each(labels.rule) or (None, None)
    return replace(labels, quality=quality, likely=likely, weights=weights)


def judged_rows(sample):
    """Return rows of a sample that tell as much of labels, the same part of each class."""
    n_rows, n = sample.shape
    most = max(LEAST_JUDGED, LEAST_PER_FEATURE * n)
    counts = np.bincount(sample.codes, minlength=sample.n_classes)
    steps = np.clip(counts // sample.regime.sample_rows_per_class, 1, -(-n_rows // most))
    return np.sort(sample.every(steps))


def with_wrong_labels(options):
    """Return options for the last LDA if labels are wrong.

    Rows of which some labels are wrong are worth fewer rows, and it is not known how many: so
    labels tell how much to shrink.
    """
    shrinkage = "agreement" if options.shrinkage == "few_rows" else options.shrinkage
    return replace(options, renew_priors=not options.given_priors, shrinkage=shrinkage)


def labels_weighed(rows, labels):
    if labels.quality is None:
        return rows.weighed(labels.rule.weights)
    return rows.reweighted(labels.weights_by_quality(rows.codes))


def solution_with_labels(labels, reweighted, evaluated, trace, objective, prepared, n_components):
    if labels.weighs:
        sample = prepared.all_sample.reweighted(labels.weights)
        prepared = replace(prepared, all_sample=sample)
    solution = solution_of(reweighted, evaluated, trace, objective, prepared, n_components)
    solution.labels = labels
    if labels.weighs:
        # Not by their weight: a doubtful label is not left out.
        solution.kept_shares = reweighted.kept_rows / prepared.all_rows.class_counts
        if solution.samples is not None:
            weights = labels.weights_by_quality(prepared.all_rows.codes)
            weights = weights * solution.samples.weights
            solution.samples = solution.samples._replace(weights=weights)
    return solution
