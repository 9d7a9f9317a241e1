"""Random models in ordinary Python, searched by the checker and by a plain search."""
