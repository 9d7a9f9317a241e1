"""A broker's store on disk: files that are written before an effect of H2, H4 or H10 counts.

Read `disk.py` first, which lists the files; `form.py` has their content.
"""
