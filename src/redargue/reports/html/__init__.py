"""Reports as HTML: one file each, made from the templates in this folder."""
