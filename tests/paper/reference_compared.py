"""The compared methods once more, slow and obvious, as the papers print them."""

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
from scipy import linalg


def moments(X, y):
    """Class means, sizes, deviations h_j in rows and m_i - m in columns, by loops."""
    classes = np.unique(y)
    means = np.array([np.mean(X[y == k], axis=0) for k in classes])
    sizes = np.array([np.sum(y == k) for k in classes])
    H = np.array([x - means[np.searchsorted(classes, k)] for x, k in zip(X, y, strict=True)])
    D = np.array([m - X.mean(axis=0) for m in means]).T
    return SimpleNamespace(means=means, sizes=sizes, H=H, D=D, Sw=H.T @ H / len(X))


def ridge_lda(X, y, gamma, d):
    """Leading eigenvectors of Sb w = mu (Sw + gamma I) w."""
    m = moments(X, y)
    Sb = sum(N * np.outer(b, b) for N, b in zip(m.sizes, m.D.T, strict=True)) / len(X)
    _, vectors = linalg.eigh(Sb, m.Sw + gamma * np.eye(X.shape[1]))
    return vectors[:, ::-1][:, :d]


def rlda(X, y, d):
    """Try every sign vector; deflate the data and begin again."""
    X = X.copy()
    n = X.shape[1]
    gamma = 1e-6 * np.trace(moments(X, y).Sw) / n
    P, columns = np.eye(n), []
    for _ in range(d):
        m = moments(X, y)
        inverse = linalg.pinv(P @ (m.Sw + gamma * np.eye(n)) @ P)
        X0 = m.D * m.sizes
        best = max(
            (X0 @ np.array(signs) for signs in product([-1, 1], repeat=len(m.sizes))),
            key=lambda x: x @ inverse @ x,
        )
        w = inverse @ best
        w /= np.linalg.norm(w)
        columns.append(w)
        X = X - np.outer(X @ w, w)
        P = P - np.outer(w, w)
    return np.array(columns).T


def rlda_objective(X, y, w, lam, gamma):
    m = moments(X, y)
    between = sum(N * abs(w @ b) for N, b in zip(m.sizes, m.D.T, strict=True))
    return -between + lam * w @ (m.Sw + gamma * np.eye(len(w))) @ w


def l1_ratio(X, y, w, floor=0.0):
    """Within-class over between-class sum of absolute values."""
    m = moments(X, y)
    within = sum(np.sqrt((w @ h) ** 2 + floor**2) for h in m.H)
    return within / sum(N * abs(w @ b) for N, b in zip(m.sizes, m.D.T, strict=True))


def l1_ascent(X, y, w, floor, learning_rate, n_steps):
    """Return the ratio of every iterate of the published ascent of LDA-L1."""
    m = moments(X, y)
    path = []
    for _ in range(n_steps):
        path.append(l1_ratio(X, y, w, floor))
        p = sum(N * np.sign(w @ b) * b for N, b in zip(m.sizes, m.D.T, strict=True))
        q = sum((w @ h) / np.sqrt((w @ h) ** 2 + floor**2) * h for h in m.H)
        w = w + learning_rate * (p / (w @ p) - q / (w @ q))
        w /= np.linalg.norm(w)
    return np.array(path)


def pairs(X, y):
    """Weights t_ik and differences m_i - m_k, i < k."""
    m = moments(X, y)
    return [
        (np.sqrt(m.sizes[i] * m.sizes[k]) / len(X), m.means[i] - m.means[k])
        for i, k in combinations(range(len(m.sizes)), 2)
    ]


def l2_bound_objective(X, y, W):
    delta = sum(t * b @ b for t, b in pairs(X, y)) / 4
    within = sum(np.sum((W.T @ h) ** 2) for h in moments(X, y).H)
    return delta * within - sum(t * np.sum((W.T @ b) ** 2) for t, b in pairs(X, y))


def l1_bound_objective(X, y, W, floor=0.0):
    delta = sum(t * np.sum(np.abs(b)) for t, b in pairs(X, y)) / 4
    within = sum(np.sum(np.sqrt((W.T @ h) ** 2 + floor**2)) for h in moments(X, y).H)
    return delta * within - sum(t * np.sum(np.abs(W.T @ b)) for t, b in pairs(X, y))
