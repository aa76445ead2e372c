"""Leave-one-out distances of rows by their right cells."""

import numpy as np

from cappedlda._kernels import loo
from cappedlda._loo.distances import LEAST_REST
from cappedlda._metrics.cells import WRONG


def left_out_distances(metric, within, rows, fitted, left_out):
    """Return the capped squared distances (N, c) of rows from classes, each left out of its fit.

    Each class drops its own cells. Let x be a row of class i, whose cells in the fit may differ:
    there it is m_i + s. With h = x - m_k, and P the inverse scatter without the cells that class k
    drops, three distances give h'P h, s'P s and h'P s. Without the row the mean is m_i - (nu - 1) s
    and the scatter is smaller by u nu s s', as in `distances`.

    The metric belongs to the moments `within` of the rows that were `fitted`. `left_out` (N,) is
    the weight that each row has in the fit, and 0 for rows outside it.
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
        some = own.may_drop(X, np.inf)
        if len(some):
            dropped, _ = own.drop(X[some], np.inf)
            price, size = np.zeros(len(X)), lengths.copy()
            price[some] = (dropped[:, 0] == WRONG) @ own.prices
            whole[some], size[some], difference = (
                own.distances(part, dropped)[:, 0] - price[some]
                for part in (X[some], steps[some] + means[k], X[some] - steps[some])
            )
            cross[some] = 0.5 * (whole[some] + size[some] - difference)
        moved = np.where(codes == k, nu - 1.0, 0.0)  # the mean of its own class, in units of s
        whole, cross = whole + moved * (2.0 * cross + moved * size), cross + moved * size
        rest = np.maximum(1.0 - share * size, LEAST_REST)
        distances[:, k] = whole + share * cross**2 / rest + price
    return distances


def wrong_cells_cost(plain, without, codes, weights, log_priors):
    """Return whether wrong cells cost hits, by leave-one-out distances with and without them."""
    codes = codes.astype(np.int32, copy=False)
    before, after = (loo.hits(part, codes, weights, log_priors) for part in (plain, without))
    return after - before > np.sqrt(max(weights.sum() - before, 0.0))
