"""Elasticsearch's public model of election, publication and founding, as a world of members."""
