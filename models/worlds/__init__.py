"""The worlds that ship: each file builds one, `models.catalogue` lists them."""
