"""Rules: from histograms of distances to caps. No rows are seen here."""
