"""Many runs in one table: figures of every cell, their spread over seeds, pages and files."""
