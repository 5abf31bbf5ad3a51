"""Results: forecasts and posteriors, their scores, and the trivial predictors to compare with."""
