"""What ran is what was checked: the event logs of real members, replayed and judged."""
