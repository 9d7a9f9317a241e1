"""Incidents: how real clusters lost data, split or stood still, each as a small world."""
