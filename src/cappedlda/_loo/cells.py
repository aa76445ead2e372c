"""Leave-one-out distances of rows by those of their cells that are right."""

import numpy as np

from cappedlda._kernels import loo
from cappedlda._loo.distances import LEAST_REST
from cappedlda._metrics.cells import WRONG


def left_out_distances(metric, freedom, weights, rows, fitted, left_out):
    """Return the capped squared distances of rows from all classes, each left out of the fit.

    Each class drops cells for itself. Let x be a row of class i, which may have other cells in the
    fit: there it is m_i + h. With v = x - m_k, and P the inverse scatter without the cells that
    class k drops, three distances tell v'P v, h'P h and h'P v. Without the row the mean is
    m_i - (nu - 1) h and the scatter is smaller by u nu h h', as in `distances`.

    Parameters
    ----------
    metric : CellMetric
    freedom : float
        Degrees of freedom of its covariance.
    weights : ndarray of shape (c,)
        Of the rows of each class in the fit.
    rows, fitted : ArrayRows
        The rows, and what was fitted.
    left_out : ndarray of shape (N,)
        Weight by which each row is left out: 0 for rows that were not in the fit.
    """
    n_rows, c, codes = len(left_out), len(metric.means), rows.codes
    X, completed = (np.ascontiguousarray(part.X, np.float64) for part in (rows, fitted))
    means = metric.centre + metric.means / metric.root
    steps, of_class = completed - means[codes], weights[codes]
    nu = of_class / np.maximum(of_class - left_out, LEAST_REST * of_class)
    share = left_out * nu / freedom
    distances = np.empty((n_rows, c))
    for k in range(c):
        own = metric.of_class(k)
        dropped, _ = own.drop(X, np.inf)
        price = (dropped[:, 0] == WRONG) @ own.prices
        whole, size, difference = (
            own.distances(some, dropped)[:, 0] - price for some in (X, steps + means[k], X - steps)
        )
        cross = 0.5 * (whole + size - difference)
        moved = np.where(codes == k, nu - 1.0, 0.0)  # the mean of its own class, in steps h
        whole, cross = whole + moved * (2.0 * cross + moved * size), cross + moved * size
        rest = np.maximum(1.0 - share * size, LEAST_REST)
        distances[:, k] = whole + share * cross**2 / rest + price
    return distances


def wrong_cells_cost(plain, without, codes, weights, log_priors):
    """Return whether wrong cells in the fit cost more than a standard error of the misclassified.

    Parameters
    ----------
    plain, without : ndarray of shape (N, c)
        Leave-one-out distances of the rows by LDA with wrong cells and without.
    codes, weights : ndarray of shape (N,)
        The weight is 0 for rows that have no say.
    log_priors : ndarray of shape (c,)
    """
    codes = codes.astype(np.int32, copy=False)
    before, after = (loo.hits(part, codes, weights, log_priors) for part in (plain, without))
    return after - before > np.sqrt(weights.sum() - before)
