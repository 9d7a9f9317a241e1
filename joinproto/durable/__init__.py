"""Files that survive a crash: records, their lock, the journal."""
