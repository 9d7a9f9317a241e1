"""Elasticsearch's published model of founding, election and publication, as a world of members."""
