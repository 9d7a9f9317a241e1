"""The commands of `joinproto`: one file each, imported only when it is used."""
