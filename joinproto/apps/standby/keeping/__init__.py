"""A broker's store on disk: what H2, H4 and H10 require to be on the disk before it is used.

Read `disk.py` first, which lists the files; `form.py` has their content.
"""
