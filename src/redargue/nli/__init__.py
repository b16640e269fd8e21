"""Small models run here; the only modules with numeric imports."""
