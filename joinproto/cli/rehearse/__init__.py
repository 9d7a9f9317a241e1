"""`joinproto recover rehearse`: real members, started from given stores, in every order."""
