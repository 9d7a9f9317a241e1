"""The note's rules exactly as they read, defects included; labels as in `docs/note.md`."""
