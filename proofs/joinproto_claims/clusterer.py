"""Clusterer: the configs and data of any number of nodes, and which node goes first.

Source: Clusterer, U1 and U3 to U6; the steps are in `clusterer_steps.py`.
"""

from joinproto.prove.layer import Claim, Conjunct, Layer
from joinproto.prove.logic import After, all_of, every, is_total_order, same, some
from joinproto_claims.clusterer_steps import (
    CONFIG,
    NODE,
    SET,
    STEPS,
    VERSION,
    below,
    c,
    d,
    first,
    gospel,
    has,
    held,
    kept,
    lock,
    m,
    means,
    n,
    names,
    ready,
    s,
    said,
    t,
    version,
    waits,
    x,
)

_ONE_SET = every((n, s, t), (has(n, s) & has(n, t)) >> same(s, t))
_NAMED_WAITS_OR_RUNS = every((n, c), (held(n, c) & names(c, n)) >> (waits(n) | ready(n)))
_ONE_HOLDER = every((n, m, x), (lock(n, m) & lock(n, x)) >> same(m, x))
_NO_OLDER = below(version(c), version(d)) | same(c, d)

CONJUNCTS = (
    Conjunct(
        "one_config_held",
        every((n, c, d), (held(n, c) & held(n, d)) >> same(c, d)),
        "a node could be ready with one config and take another one's data",
    ),
    Conjunct(
        "one_config_kept",
        every((n, c, d), (kept(n, c) & kept(n, d)) >> same(c, d)),
        "two configs could lie on one disk",
    ),
    Conjunct(
        "disk_is_no_younger",
        every(
            (n, c, d),
            (held(n, c) & kept(n, d)) >> (below(version(d), version(c)) | same(d, c)),
        ),
        "an older config could be stored over a younger one",
    ),
    Conjunct(
        "one_set_on_a_disk",
        _ONE_SET,
        "a node could have two sets of data",
    ),
    Conjunct(
        "ready_is_up_and_named",
        every(n, ready(n) >> some(c, held(n, c) & names(c, n) & kept(n, c))),
        "a node could serve that no config names",
    ),
    Conjunct(
        "named_waits_or_runs",
        _NAMED_WAITS_OR_RUNS,
        "it is the claim nobody_rests",
    ),
    Conjunct(
        "ready_does_not_wait",
        every(n, ready(n) >> ~waits(n)),
        "a node that is ready could give its lock",
    ),
    Conjunct(
        "who_waits_is_up",
        every(n, waits(n) >> some(c, held(n, c))),
        "a node that is off could give its lock",
    ),
    Conjunct(
        "locks_of_who_waits",
        every((n, m), lock(n, m) >> (waits(n) & waits(m))),
        "a lock could be held of one that is ready",
    ),
    Conjunct(
        "one_holds_a_lock",
        _ONE_HOLDER,
        "it is the claim a_lock_has_one_holder",
    ),
    Conjunct(
        "first_is_ready", every(n, first(n) >> ready(n)), "a node that ended could still count"
    ),
    Conjunct(
        "one_set_is_meant",
        every((c, s, t), (means(c, s) & means(c, t)) >> same(s, t)),
        "two nodes could be ready with one config, each with data of its own",
    ),
    Conjunct(
        "said_of_what_is_meant",
        every((n, c), said(n, c) >> some(s, means(c, s))),
        "data could be thrown away for no node's",
    ),
    Conjunct(
        "ready_has_what_is_meant",
        every((n, c, s), all_of(ready(n), held(n, c), has(n, s)) >> means(c, s)),
        "it is the claim one_set_of_data",
    ),
)

_RUN_ALIKE = all_of(ready(n), ready(m), held(n, c), held(m, c))

LAYER = Layer(
    name="clusterer",
    about="configs, data, and which node goes first, for any number of nodes",
    sorts=(NODE, CONFIG, VERSION, SET),
    relations=(below, names, gospel, held, kept, waits, ready, first, has, lock, means, said),
    functions=(version,),
    axioms={
        "versions are in a line": is_total_order(below),
    },
    steps=STEPS,
    conjuncts=CONJUNCTS,
    claims=(
        Claim(
            "versions_never_decrease",
            "U1: neither what a node holds nor what is on its disk gets older, nor is what it holds"
            " older than what is there; content of one version is never changed for another",
            every(
                (n, c, d),
                all_of(
                    (held(n, c) & After(held(n, d))) >> _NO_OLDER,
                    (kept(n, c) & After(kept(n, d))) >> _NO_OLDER,
                    (kept(n, c) & After(held(n, d))) >> _NO_OLDER,
                ),
            ),
            is_step=True,
        ),
        Claim(
            "the_gospels_data_survive",
            "U3: a node's data are given up only because another was ready with what the config"
            " means, or by the node that founds under a gospel that is reset",
            every(
                (n, c, s),
                all_of(has(n, s), held(n, c), ~After(has(n, s)))
                >> (
                    some((m, t), said(m, c) & means(c, t))
                    | all_of(After(first(n)), every(x, ~gospel(c, x)), every(t, ~means(c, t)))
                ),
            ),
            is_step=True,
        ),
        Claim(
            "meant_are_the_gospels",
            "U3: the data that a config means never change; a gospel that heads for it once they"
            " are settled has them",
            every(
                (n, c, s),
                all_of(
                    means(c, s) >> After(means(c, s)),
                    all_of(~means(c, s), After(means(c, s)), gospel(c, n), held(n, c))
                    >> After(has(n, s)),
                ),
            ),
            is_step=True,
        ),
        Claim(
            "data_come_from_who_runs",
            "U4: data come from a node whose broker runs, or are new",
            every(
                (n, s),
                all_of(~has(n, s), After(has(n, s)))
                >> (some(m, ready(m) & has(m, s)) | every(m, ~has(m, s))),
            ),
            is_step=True,
        ),
        Claim(
            "the_word_is_true",
            "U4: a node that says it is ready with a config is so when it says it",
            every((n, c), (~said(n, c) & After(said(n, c))) >> (ready(n) & held(n, c))),
            is_step=True,
        ),
        Claim(
            "one_set_of_data",
            "U3, U4: a node has one set of data, and nodes ready with one config have the same",
            all_of(
                _ONE_SET,
                every((n, m, c, s, t), (_RUN_ALIKE & has(n, s) & has(m, t)) >> same(s, t)),
            ),
        ),
        Claim(
            "nobody_rests",
            "U4 to U6: a node that heads for a config naming it waits, boots or runs; a node that"
            " is off does neither, holds no lock, and its own lock is free",
            all_of(
                _NAMED_WAITS_OR_RUNS,
                every(
                    n,
                    every(c, ~held(n, c))
                    >> all_of(~waits(n), ~ready(n), every(m, ~lock(n, m)), every(m, ~lock(m, n))),
                ),
            ),
        ),
        Claim(
            "a_lock_has_one_holder",
            "U5: a node's lock has at most one holder",
            _ONE_HOLDER,
        ),
        Claim(
            "other_content_is_never_merged",
            "U1: a node joins or comes back because of a node with the very same config, not only"
            " the same version",
            every(
                (n, c),
                all_of(held(n, c), waits(n), After(ready(n)), After(held(n, c)))
                >> (After(first(n)) | some(m, said(m, c))),
            ),
            is_step=True,
        ),
        Claim(
            "one_goes_first",
            "U4, U5: no node goes first while another of the config runs with it",
            every(
                (n, m, c),
                all_of(waits(n), held(n, c), After(first(n)), names(c, m), held(m, c)) >> ~ready(m),
            ),
            is_step=True,
        ),
        Claim(
            "no_two_first",
            "U4, U5: of one config no two nodes go first while the other runs, in any order",
            every(
                (n, m, c),
                all_of(
                    first(n),
                    held(n, c),
                    After(first(m)),
                    After(held(m, c)),
                    names(c, n),
                    ~same(n, m),
                )
                >> first(m),
            ),
            is_step=True,
        ),
    ),
    lively=some(
        (n, m, c, s),
        all_of(first(n), ready(m), ~same(n, m), held(n, c), held(m, c), has(n, s), has(m, s)),
    ),
    assumes=(
        "a node that cannot be reached while another takes the locks is off until the other goes",
        "a node that says that it joins still does so when the last answer of the round comes",
        "the identity that a node says names the data that it has",
    ),
)
