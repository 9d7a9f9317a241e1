"""The laboratory: benchmarks, faults, torture and fixtures, all of which need a checkout."""
