"""Worlds of discovery: the shipped rules for a first start, with cut links and lost disks."""
