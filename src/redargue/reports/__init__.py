"""Reports of benches and runs: HTML, Markdown, JSON, ClaimReview, and a queue for a person to adjudicate."""
