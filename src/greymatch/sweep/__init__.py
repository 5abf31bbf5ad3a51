"""Many fits with other settings each, and which of them forecasts validation data best."""
