"""The known physics: functions, parameters with priors, and grid operators."""
