"""Pick the latest of several stores, and say whether that is proven.  Pure decisions only."""
