"""Many runs: grids of settings and seeds, and the paper's evaluation on top of them."""
