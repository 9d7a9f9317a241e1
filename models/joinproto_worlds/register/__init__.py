"""The register that chooses the successor of a view, and worlds held against it."""
