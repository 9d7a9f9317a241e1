"""Exploring: walking through the states of a world on demand, by questions and answers in JSON.

`session.py` answers; nothing here opens a socket, starts a thread or needs NumPy, but for
`listening.py`, `server.py` and `deep`, which nothing else imports.  A page has one channel,
`ask(verb, arguments)`, whether the answer comes over HTTP, from a worker or from a file.

The protocol
------------

`Session().answer(verb, arguments)` takes and returns plain JSON values.  An error is an
answer, too: `{"error": {"message", "next", "place"}}`.  States have numbers, given when they are
first met; a run is a list of them, and the page keeps it.  Verbs, with what they take:

    open     target, options {name: text}    loads a world: its name, members, claims, first states
    world                                    the same of the world that is open
    state    id, via [id, index]             one state: members, network, claims, steps out of it
    why      id, index                       rows of decision tables that a step took, and why not
                                             the rows above
    claim    id, name, via                   a claim here, with the parts of its expression
    walk     id, steps, seed, until          a random run on; until: {claim} or {where}
    follow   start, keys, end                a run by the content of its steps (a shared address)
    columns  columns [{name, where}]         columns of the user's, shown in each state from now on
    inject   kind, member, to, start, keys   a fault that the world does not have, and the run again
    disks    member, start, keys             what a disk may become: older copies, torn writes,
                                             values to edit it with
    search   seconds                         searches on, breadth first, for so long, 5 s at most
    nearest  where | claim, seconds          the shortest run to such a state, from the beginning
    pattern  steps [text], seconds           the shortest run with such steps, in this order
    levels                                   how many states each level has
    cover                                    how often rows and steps were taken, never first
    graph    by [attribute], nodes_max       the graph of what was searched, projected
    way      id | row                        the shortest run to a state of it
    reload                                   loads the model file again if it changed
    compare  options | target                another version, walked in step with this one
    pair     start, keys, other              both after these steps, with what claims say
    runs                                     two runs that were opened, with what claims say

A **state**: `id`, `key` (by content), `members` [{`name`, `up`, `texts` {attribute: text}}],
`monitor` (texts or null), `network` {`split`, `under_way` [{`from`, `to`, `content`}], `left`
{fault: number or null without limit}}, `claims` [{`name`, `kind`, `is`, `says`}], `columns`
[{`name`, `text`}], `beyond`, `picture`, and `steps`.

A **step**: `index` (among the steps of its state), `kind` (`deliver`, `own`, `operator` or
`fault`), `member`, `members`, `action`, `detail`, `label`, `message`, `sent`, `rules`, `to` (the
state it leads to) and `key` (by content).

A **run** in an answer: `start`, `ids` (from the first state on) and `steps` (one fewer).
"""
