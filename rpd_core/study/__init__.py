"""Many runs: measures compared, grids of settings and seeds, the paper's evaluation."""
