"""The checks behind `rpd_core.testing`, one module per group of kinds."""
