"""What Apache Qpid C++ 0.8 to 0.18 really does, in the same tables; `docs/note.md` compares."""
