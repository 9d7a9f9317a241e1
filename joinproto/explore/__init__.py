"""Exploring: walking through the states of a world on demand, by questions and answers in JSON.

`session.py` answers.  Only `listening.py`, `server.py` and `deep` open a socket, start a thread or
need NumPy, and no other module here imports these.  A page has one channel,
`ask(verb, arguments)`, whether the answer comes over HTTP, from a worker or from a file.

The protocol
------------

`Session().answer(verb, arguments)` takes and returns plain JSON values.  An error is also an
answer: `{"error": {"message", "next", "place"}}`.  A state gets its number when it is first met; a
run is a list of these numbers, and the page keeps it.  The verbs, with their arguments:

    open     target, options {name: text}    loads a world: its name, members, claims, first states
    world                                    the same for the world that is open
    state    id, via [id, index]             one state: members, network, claims, steps out of it
    why      id, index                       rows of decision tables that a step took, and why not
                                             the rows above
    claim    id, name, via                   a claim here, with the parts of its expression
    walk     id, steps, seed, until          a random run from here; until: {claim} or {where}
    follow   start, keys, end                a run by the content of its steps (a shared address)
    columns  columns [{name, where}]         the user's columns, shown in each state from now on
    inject   kind, member, to, start, keys   a fault that the world does not have, and the run again
    disks    member, start, keys             what a disk may become: older copies, torn writes,
                                             values to edit it with
    search   seconds                         continues the search, breadth first, for 5 s at most
    nearest  where | claim, seconds          the shortest run to such a state, from the beginning
    pattern  steps [text], seconds           the shortest run with such steps, in this order
    levels                                   how many states each level has
    questions                                ready questions, and attributes for `graph`
    cover                                    how often rows and steps were taken, the rarest first
    graph    by [attribute], nodes_max       the projected graph of the states that were searched
    way      id | row                        the shortest run to a state of that graph
    reload                                   loads the model file again if it changed
    compare  options | target                another version, walked in step with this one
    pair     start, keys, other              both versions after these steps, with their claims
    runs                                     the two runs that were opened, with their claims
    logs                                     the logs of a real run, if it was opened with some

A **state**: `id`, `key` (by content), `members` [{`name`, `up`, `texts` {attribute: text}}],
`monitor` (texts or null), `network` {`split`, `under_way` [{`from`, `to`, `content`}], `left`
{fault: number, or null for no limit}}, `claims` [{`name`, `kind`, `is`, `says`}], `columns`
[{`name`, `text`}], `beyond`, `picture`, `steps` and `problems`.

A **step**: `index` (among the steps of its state), `kind` (`deliver`, `own`, `operator` or
`fault`), `member`, `members`, `crashed`, `action`, `detail`, `label`, `message`, `sent`, `rules`,
`to` (the state it leads to) and `key` (by content).

A **run** in an answer: `start`, `ids` (from the first state on) and `steps` (one fewer).
"""
