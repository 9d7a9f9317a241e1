"""What holds for any number of members, ballots and views: claims as inductive invariants."""
