"""The laboratory: benchmarks, faults, torture, fixtures; run from a checkout, in no wheel."""
