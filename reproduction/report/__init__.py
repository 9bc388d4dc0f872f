"""From run files to tables, claims and the report."""
