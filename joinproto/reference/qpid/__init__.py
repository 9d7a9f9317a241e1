"""Apache Qpid C++ 0.8 to 0.18, in the same tables; `docs/note.md` compares it with the note."""
