"""Reports of benches and runs: one HTML file, Markdown, JSON, ClaimReview, and a queue for a person to adjudicate."""
