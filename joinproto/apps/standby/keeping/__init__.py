"""A broker's store on disk: the data that must be on the disk before use, by H2, H4 and H10.

Read `disk.py` first, which lists the files; `form.py` has their content.
"""
