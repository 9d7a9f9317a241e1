"""Programs that put rooms together: the commands, diagrams, replay, torture."""
