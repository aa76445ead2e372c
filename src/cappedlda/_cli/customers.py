"""An example of a business table: categories, gaps, dates, an id, skewed amounts, errors."""

import numpy as np

N_ROWS = 1200
FIRST_DAY = np.datetime64("2021-01-01")
UNKNOWN_AMOUNT, UNKNOWN_CALLS = 9_999_999.0, 999  # somebody's codes for "unknown"


def customers(seed):
    """Return the columns of a table of customers who left or stayed, as text.

    One row in a hundred has an impossible amount or number of calls. Numbers are written with
    decimal commas, and points between thousands.
    """
    rng = np.random.default_rng(seed)
    left = rng.random(N_ROWS) < 0.35
    plan = rng.choice(["basic", "plus", "pro"], N_ROWS, p=[0.5, 0.3, 0.2])
    days = rng.integers(0, 1500, N_ROWS)
    revenue = np.exp(rng.normal(np.where(left, 6.6, 7.3), 0.45))
    calls = rng.poisson(np.where(left, 7, 3))
    wrong = rng.permutation(N_ROWS)[: N_ROWS // 100]
    revenue[wrong[::2]] = UNKNOWN_AMOUNT
    calls[wrong[1::2]] = UNKNOWN_CALLS
    return {
        "customer": np.array([f"K{10_000 + i}" for i in range(N_ROWS)]),
        "plan": with_gaps(rng, np.where(left & (plan == "pro"), "basic", plan), 0.03),
        "region": rng.choice(["North", "South", "East", "West"], N_ROWS, p=[0.4, 0.3, 0.2, 0.1]),
        "since": np.array([german_date(day) for day in FIRST_DAY + days]),
        "age": with_gaps(rng, rng.normal(np.where(left, 41, 49), 9).astype(int), 0.05),
        "revenue": np.array([german_number(amount) for amount in revenue]),
        "calls": calls,
        "vip": np.where(rng.random(N_ROWS) < 0.02, "yes", "no"),
        "status": np.where(left, "left", "stayed"),
    }


def with_gaps(rng, values, share):
    """Return values as text, some of them empty."""
    return np.where(rng.random(len(values)) < share, "", values.astype(str))


def german_number(value):
    """Return 1234.5 as 1.234,50."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def german_date(day):
    """Return a day as 31.01.2024."""
    year, month, date = str(day).split("-")
    return f"{date}.{month}.{year}"
