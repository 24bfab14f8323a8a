"""The contract with plugins: kinds, protocols, discovery, registry, spec strings."""
