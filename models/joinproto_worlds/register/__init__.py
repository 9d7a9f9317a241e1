"""The register that chooses the successor of a view, and worlds compared with it."""
