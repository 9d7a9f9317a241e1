"""The join note as it is written: which of its rules lose data."""
