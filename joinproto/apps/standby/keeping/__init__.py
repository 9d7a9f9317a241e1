"""A broker's store on disk: the doing part of H2, H4 and H10."""
