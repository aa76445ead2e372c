"""The specification: slow and obvious NumPy versions of the kernels and both algorithms.

Nothing here uses the package but the plain data class `Query`, which only holds what
a pass is asked. Loops run over rows, formulas are written as the documentation prints them.
"""

from types import SimpleNamespace

import numpy as np
from scipy import linalg

LOWEST, HIGHEST, PER_OCTAVE = -20, 20, 32


def bin_positions():
    """Distances at which the bins of the histogram sit: 32 equal steps per octave."""
    positions = [
        2.0**exponent * (1 + step / PER_OCTAVE)
        for exponent in range(LOWEST, HIGHEST)
        for step in range(PER_OCTAVE)
    ]
    return np.array([*positions, 2.0**HIGHEST, 2.0**HIGHEST * (1 + 1 / PER_OCTAVE)])


POSITIONS = bin_positions()


def deposit(histogram, distance, weight):
    """Cloud in cell: the two bins around a distance share its weight linearly."""
    if distance < POSITIONS[0]:
        histogram[0] += weight
    elif distance >= POSITIONS[-1]:
        histogram[-1] += weight
    else:
        above = int(np.searchsorted(POSITIONS, distance, side="right"))
        low, high = POSITIONS[above - 1], POSITIONS[above]
        fraction = (distance - low) / (high - low)
        histogram[above - 1] += weight * (1 - fraction)
        histogram[above] += weight * fraction


def projected_norms(X, codes, W, centres):
    """a_j = ||W'(x_j - m_i)||."""
    return np.array([np.linalg.norm(W.T @ (x - centres[i])) for x, i in zip(X, codes, strict=True)])


def capped_weights(distances, caps, q, floor):
    """F_j = q (a_j^2 + floor^2)^(q/2 - 1) up to the cap, 0 beyond it."""
    return np.array(
        [
            q * (a**2 + floor**2) ** (q / 2 - 1) if a <= cap else 0.0
            for a, cap in zip(distances, caps, strict=True)
        ]
    )


def weighted_scatter(X, codes, centres, scale, weights):
    """Sum of weight_j h_j h_j', h_j = (x_j - m_i) / scale."""
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for x, i, weight in zip(X, codes, weights, strict=True):
        h = (x - centres[i]) / scale
        scatter += weight * np.outer(h, h)
    return scatter


def pass_record(X, codes, query, sample_weight=None):
    """Everything a pass returns, row by row, in float64."""
    # The kernels multiply in the precision of the rows, so the same values go in here.
    W = query.W.astype(X.dtype).astype(float)
    centres = query.centres.astype(X.dtype).astype(float)
    X = X.astype(float)
    (n, d), c = W.shape, len(centres)
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    distances = projected_norms(X, codes, W, centres)
    caps = query.caps[codes]
    F = capped_weights(distances, caps, query.q, query.floor)
    record = SimpleNamespace(
        scatter=np.zeros((0, 0)),
        sums=np.zeros((c, n) if query.sums else (0, 0)),
        image_sums=np.zeros((c, d)),
        image_scatter=np.zeros((d, d) if query.images else (0, 0)),
        kept=np.zeros((c, 2)),
        histograms=np.zeros((c, len(POSITIONS))),
        objective=0.0,
        not_finite=0,
    )
    if query.scatter:
        record.scatter = weighted_scatter(X, codes, centres, query.scale, weight * F)
    for j, i in enumerate(codes):
        deposit(record.histograms[i], distances[j], weight[j])
        reach = min(distances[j], caps[j])
        record.objective += weight[j] * (reach**2 + query.floor**2) ** (query.q / 2)
        if distances[j] > caps[j] or weight[j] == 0.0:
            continue
        h = X[j] - centres[i]
        if query.sums:
            record.sums[i] += weight[j] * h
        if query.images:
            record.image_sums[i] += weight[j] * (W.T @ h)
            record.image_scatter += weight[j] * np.outer(W.T @ h, W.T @ h)
        record.kept[i] += [1.0, weight[j]]
    return record, distances


def weighted_quantile(values, weights, level):
    """Smallest value whose cumulative weight reaches the level."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) >= level * weights.sum()
    return values[order][np.argmax(reached)]


def weighted_median(values, weights):
    """Median of the columns of the rows repeated as often as their integer weight says."""
    return np.median(np.repeat(values, weights, axis=0), axis=0)


def feature_unit(values, codes):
    """Robust unit of a feature, from its absolute deviations from the medians of the classes."""
    medians = np.array([np.median(values[codes == i]) for i in np.unique(codes)])
    deviations = np.abs(values - medians[codes])
    half, wider = np.quantile(deviations, [0.5, 0.7], method="averaged_inverted_cdf")
    if half > 0.0:
        return 1.4826 * max(half, min(wider / 3.0, 10.0 * half))
    others = deviations[deviations > 0.0]
    if len(others) == 0:
        return np.ptp(medians) or 1.0
    shared = np.array([d for d in others if np.sum(others == d) > 1])
    others = shared if len(shared) else others
    return np.median(others) * max(np.sqrt(len(others) / len(values)), 1.0 / 3.0)


def capped_norm(M, epsilon, p, q):
    """Equation (2) of the paper over the columns of M."""
    total = 0.0
    for column in M.T:
        length = np.max(np.abs(column)) if p == np.inf else np.sum(np.abs(column) ** p) ** (1 / p)
        total += min(length**q, epsilon)
    return total ** (1 / q)


def between_factor(centres, priors, scale):
    """Columns sqrt(prior_i) (m_i - m) / scale."""
    overall = sum(prior * centre for prior, centre in zip(priors, centres, strict=True))
    columns = [
        np.sqrt(prior) * (centre - overall) / scale
        for prior, centre in zip(priors, centres, strict=True)
    ]
    return np.stack(columns, axis=1)


def mm_objective(X, codes, W, frame, q, sample_weight=None):
    """The objective of the MM iteration in a fixed frame; W is in scaled features."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    total = 0.0
    for x, i, w in zip(X, codes, weight, strict=True):
        a = np.linalg.norm(W.T @ ((x - frame.centres[i]) / frame.scale))
        total += w * min(a**2 + frame.floor**2, frame.caps[i] ** 2 + frame.floor**2) ** (q / 2)
    return total / weight.sum() + 0.5 * frame.gamma * np.sum(W**2)


def mm_step(X, codes, W, frame, q, sample_weight=None):
    """The minimiser of its majorizer: A^{-1} B (B'A^{-1}B)^+ K'."""
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    raw = W / frame.scale[:, None]
    distances = projected_norms(X, codes, raw, frame.centres)
    F = capped_weights(distances, frame.caps[codes], q, frame.floor)
    A = weighted_scatter(X, codes, frame.centres, frame.scale, weight * F) / weight.sum()
    A = A + frame.gamma * np.eye(len(A))
    B = between_factor(frame.centres, frame.priors, frame.scale)
    Y = np.linalg.inv(A) @ B
    return Y @ np.linalg.pinv(B.T @ Y, rcond=1e-9, hermitian=True) @ frame.K.T


def directions_from_weights(X, codes, weights, centres, priors):
    """A^{-1} B: what the weights of the rows in the within-class scatter make of the centres."""
    A = weighted_scatter(X, codes, centres, np.ones(X.shape[1]), weights)
    return np.linalg.inv(A) @ between_factor(centres, priors, np.ones(X.shape[1]))


def class_factors(X, codes):
    """H_w (n, N) and H_b (n, c) of the paper."""
    c = int(codes.max()) + 1
    means = np.stack([X[codes == i].mean(axis=0) for i in range(c)])
    sizes = np.array([np.sum(codes == i) for i in range(c)])
    H_b = (np.sqrt(sizes)[:, None] * (means - X.mean(axis=0))).T
    return (X - means[codes]).T, H_b


def paper_ratio(W, H_w, H_b, epsilon, floor=0.0):
    """J = f / g with norms smoothed by the floor, and the cap likewise."""

    def capped_sum(H):
        return sum(np.sqrt(min(np.sum((W.T @ h) ** 2), epsilon**2) + floor**2) for h in H.T)

    return capped_sum(H_w) / capped_sum(H_b)


def algorithm_1(X, codes, W, epsilon, floor, n_iter):
    """Projections and ratios of the paper's Algorithm 1, with a floor and a ridge."""
    H_w, H_b = class_factors(X, codes)
    d = W.shape[1]
    iterates, ratios = [W], [paper_ratio(W, H_w, H_b, epsilon, floor)]
    for _ in range(n_iter):
        S = []
        for H in (H_w, H_b):
            total = np.zeros((len(W), len(W)))
            for h in H.T:
                a = np.linalg.norm(W.T @ h)
                if a <= epsilon:
                    total += np.outer(h, h) / np.sqrt(a**2 + floor**2)
            S.append(total)
        S1 = S[0] + 1e-10 * np.trace(S[0]) / len(W) * np.eye(len(W))
        values, vectors = linalg.eigh(S[1], S1)
        finite = np.flatnonzero(values > 1e-10 * values[-1])[::-1][:d]
        W = vectors[:, finite]
        W = W / np.sqrt(np.sum(W * (S[1] @ W), axis=0))
        # The step changes the unit of all distances, and so that of the floor.
        floor *= np.mean(np.linalg.norm(W.T @ H_b, axis=0))
        floor /= np.mean(np.linalg.norm(iterates[-1].T @ H_b, axis=0))
        iterates.append(W)
        ratios.append(paper_ratio(W, H_w, H_b, epsilon, floor))
    return iterates, ratios


def histogram_quantiles(weights, levels, cap=np.inf):
    """Quantiles of one histogram: half of a bin's weight lies below it, evenly in between."""
    counts = (weights > 0) & (cap >= POSITIONS)
    if not counts.any():
        return np.zeros(len(levels))
    weights, positions = weights[counts], POSITIONS[counts]
    middles = np.cumsum(weights) - 0.5 * weights
    return np.interp(np.array(levels) * weights.sum(), middles, positions)


def update_caps(histograms, caps, halves, reach, min_gap, min_weight):
    """The common fence over the rows within caps, and the caps that follow from it."""

    def fence(weights, cap):
        median, high = histogram_quantiles(weights, [0.5, 0.9], cap)
        return high + max(reach * (high - median), min_gap * high)

    inside = np.where(caps[:, None] >= POSITIONS, histograms, 0.0)
    epsilon = fence(inside.sum(axis=0), np.inf)
    own = [
        fence(weights, cap) if weights[cap >= POSITIONS].sum() >= min_weight else 0.0
        for weights, cap in zip(histograms, caps, strict=True)
    ]
    return epsilon, np.maximum(np.maximum(own, halves), epsilon)


def shrunk_distances(X, codes, sample_weight, kept, variance_floor, least):
    """Mahalanobis distances from the kept rows of each class by their shrunk covariance."""
    n_rows, n = X.shape
    weight = kept * (np.ones(n_rows) if sample_weight is None else sample_weight)
    total, centred, own = weight.sum(), np.empty(X.shape), np.empty(n_rows)
    for i in np.unique(codes):
        of_class = codes == i
        centred[of_class] = X[of_class] - np.average(X[of_class], axis=0, weights=weight[of_class])
        size = weight[of_class].sum()
        own[of_class] = size / max(size - 1.0, 0.5 * size)
    covariance = (centred.T * weight) @ centred / total
    mean_variance, size = np.trace(covariance) / n, np.sum(covariance**2)
    spread = size - n * mean_variance**2
    error = weight @ np.sum(centred**2, axis=1) ** 2 / total**2 - size / total
    # One feature has no spread, but for rounding: nothing depends on the shrinkage then.
    shrinkage = np.clip(error / spread, least, 1.0) if spread > 0.0 else 1.0
    np.fill_diagonal(covariance, np.maximum(np.diag(covariance), variance_floor))
    shrunk = (1.0 - shrinkage) * covariance + shrinkage * max(mean_variance, least) * np.eye(n)
    squares = np.sum(centred * np.linalg.solve(shrunk, centred.T).T, axis=1)
    left_out = squares / (1.0 - np.minimum((1.0 - shrinkage) * squares / total, 0.99)) * own**2
    return np.sqrt(np.where(kept, left_out, squares))


def left_out_distances(X, y, weights):
    """Squared distances of each row from all classes, by LDA fitted anew without (one of) it."""
    distances = []
    for row, means, covariance in left_out_fits(X, y, weights):
        distances.append([d @ np.linalg.solve(covariance, d) for d in row - means])
    return np.array(distances)


def left_out_distances_off_plane(X, y, weights):
    """The same from the plane through the means of the classes."""
    distances = []
    for row, means, covariance in left_out_fits(X, y, weights):
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        plane, step = root @ (means[1:] - means[0]).T, root @ (row - means[0])
        distances.append(np.sum((step - plane @ np.linalg.lstsq(plane, step, rcond=None)[0]) ** 2))
    return np.array(distances)


def left_out_fits(X, y, weights):
    """Yield each row, and the means and the covariance without (one of) it."""
    n_classes = y.max() + 1
    for j, row in enumerate(X):
        w = weights.copy()
        w[j] -= min(w[j], 1.0)
        means = np.stack([w[y == k] @ X[y == k] / w[y == k].sum() for k in range(n_classes)])
        H = X - means[y]
        # The degrees of freedom stay those of all rows: only the shape of distances matters.
        yield row, means, (H.T * w) @ H / (weights.sum() - n_classes)


def label_noise(X, y, kept, shrinkage=0.0):
    """Two rounds of the label layer: every distance from a fit without the row."""
    c, n = y.max() + 1, X.shape[1]
    means = np.stack([X[kept & (y == k)].mean(axis=0) for k in range(c)])
    unit = np.sqrt(np.mean((X[kept] - means[y[kept]]) ** 2, axis=0))
    Z, w, rate, without = X / unit, kept * 1.0, 0.1, None
    log_priors = np.log(np.bincount(y) / len(y))
    for _ in range(2):
        D, judged = np.zeros((len(y), c)), kept.copy()
        freedom = w.sum() - c
        m, S = moments(Z, y, w)
        # The ridge is that of all rows; it stays when a row is left out.
        ridge = shrinkage / (1.0 - shrinkage) * np.trace(S) / n * np.eye(n)
        for j in np.flatnonzero(kept):
            others = np.where(np.arange(len(y)) == j, 0.0, w)
            means, scatter = moments(Z, y, others)
            inverse = np.linalg.inv((scatter + ridge) / freedom)
            D[j] = [(Z[j] - mean) @ inverse @ (Z[j] - mean) for mean in means]
            h, of_class = Z[j] - m[y[j]], w[y == y[j]].sum()
            share = w[j] * of_class / (of_class - w[j])
            judged[j] = 1.0 - share * h @ np.linalg.solve(S + ridge, h) >= 0.05
        D, own, found = D[judged], y[judged], []
        for tau in np.geomspace(0.05, 1.5, 8):
            scores = log_priors - tau * D / 2.0
            p = np.exp(scores - scores.max(axis=1, keepdims=True))
            p = (p / p.sum(axis=1, keepdims=True))[np.arange(len(own)), own]
            rho = rate
            for _ in range(8):
                q = (1 - rho) * p / ((1 - rho) * p + rho / (c - 1) * (1 - p))
                rho = np.clip(np.mean(1 - q), 1 / len(own), 0.9 * (c - 1) / c)
            q = (1 - rho) * p / ((1 - rho) * p + rho / (c - 1) * (1 - p))
            likelihood = np.log((1 - rho) * p + rho / (c - 1) * (1 - p)).sum()
            found.append((likelihood, rho, q, np.log(p).sum()))
        without = max(item[3] for item in found) if without is None else without
        best = max(found, key=lambda item: item[0])
        far_apart = found[-1][2] @ (1 - p) < 0.2 * rho * found[-1][2].sum()
        if far_apart and found[-1][0] > best[0] - np.log(len(own)):
            best = found[-1]
        likelihood, rate, q, _ = best
        quality = kept * 1.0
        quality[judged] = q
        w = kept * np.maximum(quality, 0.01)
        shares = np.bincount(y, w)
        log_priors = np.log(shares / shares.sum())
    return SimpleNamespace(rate=rate, gain=likelihood - without, quality=quality)


def moments(X, y, weights):
    """Class means, and the scatter of the rows about them."""
    means = np.stack([np.average(X[y == k], axis=0, weights=weights[y == k]) for k in set(y)])
    H = X - means[y]
    return means, (H.T * weights) @ H
