"""The laboratory: benchmarks, faults, torture and fixtures; they need a checkout."""
