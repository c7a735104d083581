"""Reports of evaluations: tables, pictures, and files of results."""
