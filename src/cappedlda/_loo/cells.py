"""Leave-one-out distances of rows by those of their cells that are right."""

import numpy as np

from cappedlda._kernels import loo
from cappedlda._loo.distances import LEAST_REST
from cappedlda._metrics.cells import WRONG


def left_out_distances(metric, within, rows, fitted, left_out):
    """Return the capped squared distances of rows, each left out of its fit, from classes (N, c).

    Each class drops cells for itself. Let x be a row of class i, which may have other cells in the
    fit: there it is m_i + s. With h = x - m_k, and P the inverse scatter without the cells that
    class k drops, three distances tell h'P h, s'P s and h'P s. Without the row the mean is
    m_i - (nu - 1) s and the scatter is smaller by u nu s s', as in `distances`.

    The metric is that of moments `within` of the rows that were `fitted`. Rows are `left_out` by a
    weight (N,): 0 for those that were not in the fit.
    """
    codes, of_class = rows.codes, within.weights[rows.codes]
    X, completed = (np.ascontiguousarray(part.X, np.float64) for part in (rows, fitted))
    means = metric.centre + metric.means / metric.root
    steps = completed - means[codes]
    nu = of_class / np.maximum(of_class - left_out, LEAST_REST * of_class)
    share = left_out * nu / within.freedom
    Z, S = (X - metric.centre) * metric.root, steps * metric.root
    images, step_images = Z @ metric.R, S @ metric.R
    lengths = np.einsum("ij,ij->i", S, step_images)
    distances = np.empty((len(X), len(means)))
    for k in range(len(means)):
        H, price, size = Z - metric.means[k], 0.0, lengths
        whole = np.einsum("ij,ij->i", H, images - metric.images[k])
        cross = np.einsum("ij,ij->i", H, step_images)
        own = metric.of_class(k)
        some = own.screen(np.inf)(X)
        if len(some):
            dropped, _ = own.drop(X[some], np.inf)
            price, size = np.zeros(len(X)), lengths.copy()
            price[some] = (dropped[:, 0] == WRONG) @ own.prices
            whole[some], size[some], difference = (
                own.distances(part, dropped)[:, 0] - price[some]
                for part in (X[some], steps[some] + means[k], X[some] - steps[some])
            )
            cross[some] = 0.5 * (whole[some] + size[some] - difference)
        moved = np.where(codes == k, nu - 1.0, 0.0)  # the mean of its own class, in steps
        whole, cross = whole + moved * (2.0 * cross + moved * size), cross + moved * size
        rest = np.maximum(1.0 - share * size, LEAST_REST)
        distances[:, k] = whole + share * cross**2 / rest + price
    return distances


def wrong_cells_cost(plain, without, codes, weights, log_priors):
    """Return whether wrong cells in the fit cost more than a standard error of the misclassified.

    `plain` and `without` are leave-one-out distances (N, c) by LDA with wrong cells and without.
    Rows without a weight have no say.
    """
    codes = codes.astype(np.int32, copy=False)
    before, after = (loo.hits(part, codes, weights, log_priors) for part in (plain, without))
    return after - before > np.sqrt(max(weights.sum() - before, 0.0))
