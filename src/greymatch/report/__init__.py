"""One self-contained HTML page that shows what was fitted, how well it forecasts, and how to make it again."""
