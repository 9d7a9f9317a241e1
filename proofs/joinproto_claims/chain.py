"""The chain: the contents of stores, and where each view starts, for any number of members.

Views are chosen by a register that has at most one successor of each view.  That is a claim of
`register.py`, and a guard here.  Source: join protocol, 3.2 to 3.5 and 3.7;
`joinproto/join/answers.py` defines with the same terms which stores cover a view.
"""

from joinproto.prove.layer import Claim, Conjunct, Layer
from joinproto.prove.logic import (
    After,
    all_of,
    equal,
    every,
    is_forest_order,
    is_total_order,
    same,
    some,
)
from joinproto_claims.chain_steps import (
    COPY,
    NUMBER,
    SEAT,
    STEPS,
    VIEW,
    below,
    blocked,
    chosen,
    close,
    closed,
    committed,
    contains,
    earlier,
    has,
    is_ready,
    kept,
    knows,
    m,
    member,
    n,
    p,
    reached,
    s,
    start,
    t,
    told,
    told_not,
    u,
    unfinished,
    upto,
    v,
    w,
    x,
    y,
)

_ON_ONE_CHAIN = upto(u, v) | upto(v, u)

CONJUNCTS = (
    Conjunct(
        "chosen_has_members",
        every(v, chosen(v) >> some(s, member(v, s))),
        "a view without members would commit anything",
    ),
    Conjunct(
        "chosen_from_the_founding",
        every((u, v), (chosen(v) & upto(u, v)) >> chosen(u)),
        "a view could stand behind one that was never chosen",
    ),
    Conjunct(
        "one_chain",
        every((x, u, v), all_of(chosen(u), chosen(v), upto(x, u), upto(x, v)) >> _ON_ONE_CHAIN),
        "a cluster could go on in two ways",
    ),
    Conjunct(
        "known_is_chosen",
        every((s, v), knows(s, v) >> chosen(v)),
        "a store could follow a view that was only proposed",
    ),
    Conjunct(
        "known_from_the_founding",
        every((s, u, v), (knows(s, v) & upto(u, v)) >> knows(s, u)),
        "a store could know a view without the way to it",
    ),
    Conjunct(
        "one_chain_each",
        every((s, u, v), (knows(s, u) & knows(s, v)) >> _ON_ONE_CHAIN),
        "a store could change its cluster",
    ),
    Conjunct(
        "older_is_closed",
        every((s, u, v), (knows(s, v) & below(u, v)) >> closed(s, u)),
        "a member could go on in a view that has a successor it knows",
    ),
    Conjunct(
        "ready_is_known",
        every((s, v), reached(s, v) >> knows(s, v)),
        "a seat could be ready in a view of another cluster",
    ),
    Conjunct(
        "reached_from_the_founding",
        every((s, u, v), (reached(s, v) & upto(u, v)) >> reached(s, u)),
        "`reached` says: this view or a later one",
    ),
    Conjunct(
        "ready_is_member",
        every((s, v), is_ready(s, v) >> member(v, s)),
        "a keeper of frames would be none whose frames count",
    ),
    Conjunct(
        "ready_in_no_close",
        every((s, v), ~(is_ready(s, v) & close(v))),
        "frames could be kept in a CLOSE",
    ),
    Conjunct(
        "ready_has_the_start",
        every((s, v, y, n), (is_ready(s, v) & start(v, y, n)) >> has(s, y, n)),
        "a member could serve without the data that its view starts with",
    ),
    Conjunct(
        "kept_was_ready",
        every((s, v, n), kept(s, v, n) >> reached(s, v)),
        "a store that was never ready in a view could have frames that count there",
    ),
    Conjunct(
        "nothing_kept_in_a_close",
        every((s, v, n), ~(close(v) & kept(s, v, n))),
        "a CLOSE counts as never served",
    ),
    Conjunct(
        "kept_is_there",
        every((s, v, n), (kept(s, v, n) & ~closed(s, v)) >> has(s, v, n)),
        "a member could forget a frame that it has acknowledged, while it serves",
    ),
    Conjunct(
        "left_out_is_blocked",
        every((v, w, n), all_of(chosen(w), below(v, w), ~start(w, v, n)) >> blocked(v, n)),
        "the heart: a view could start without a frame that was, or will be, committed",
    ),
    Conjunct(
        "absent_is_blocked",
        every(
            (s, v, n),
            all_of(reached(s, v), closed(s, v), ~unfinished(s), ~has(s, v, n)) >> blocked(v, n),
        ),
        "a store that was ready could miss a frame that counts, and become a source",
    ),
    Conjunct(
        "told_absent_is_blocked",
        every(
            (s, v, w, u, n, p),
            all_of(told(s, v, p, u), upto(w, u), ~contains(p, w, n)) >> blocked(w, n),
        ),
        "an answer could become untrue while it is on its way",
    ),
    Conjunct(
        "told_not_is_closed",
        every((s, v, w), (told_not(s, v, w) & upto(w, v)) >> closed(s, w)),
        "a seat that said that it was never ready in a view could still become so",
    ),
    Conjunct(
        "told_not_kept_nothing",
        every((s, v, w, n), (told_not(s, v, w) & upto(w, v)) >> ~kept(s, w, n)),
        "a view that counts as never served could have frames",
    ),
    Conjunct(
        "start_is_behind",
        every((v, w, n), (chosen(w) & start(w, v, n)) >> below(v, w)),
        "a view could start with frames of another cluster",
    ),
    Conjunct(
        "data_is_known",
        every((s, v, n), has(s, v, n) >> knows(s, v)),
        "a store could have frames of a view it does not know",
    ),
    Conjunct(
        "told_is_behind",
        every((s, v, w, u, n, p), (told(s, v, p, u) & contains(p, w, n)) >> upto(w, v)),
        "an answer about a view could bring frames from elsewhere",
    ),
    Conjunct(
        "numbers_go_on",
        every((s, v, w, m, n), (kept(s, w, n) & start(w, v, m)) >> earlier(m, n)),
        "two frames could have one number",
    ),
)

_NEVER_SERVED = close(x) | some(t, member(x, t) & ~reached(t, x))
_COVERS_AS_IT_LIES = some(
    u,
    reached(s, u) & upto(u, v) & every(x, (below(u, x) & upto(x, v)) >> _NEVER_SERVED),
) | some(
    u,
    upto(u, v)
    & every((w, n), equal(has(s, w, n), start(u, w, n)))
    & every(x, (upto(u, x) & upto(x, v)) >> _NEVER_SERVED),
)

CLAIMS = (
    Claim(
        "nothing_lost",
        "a committed frame is held by every member that is ready in that view or a later one",
        every((s, v, w, n), all_of(upto(v, w), is_ready(s, w), committed(v, n)) >> has(s, v, n)),
    ),
    Claim(
        "no_stale_source",
        "a view starts behind every frame that was committed before it: with this data members"
        " become ready, and from it they are updated",
        every((v, w, n), all_of(chosen(w), below(v, w), committed(v, n)) >> start(w, v, n)),
    ),
    Claim(
        "no_split_brain, frames",
        "in one cluster, no two views commit a frame with the same number",
        every(
            (x, u, v, n),
            all_of(chosen(u), chosen(v), upto(x, u), upto(x, v), committed(u, n), committed(v, n))
            >> same(u, v),
        ),
    ),
    Claim(
        "no_wrong_store",
        "a member that is ready in a view has data and views of that chain only",
        every(
            (s, u, v, n),
            is_ready(s, v) >> all_of(has(s, u, n) >> upto(u, v), knows(s, u) >> upto(u, v)),
        ),
    ),
    Claim(
        "signature_never_changes",
        "S1: the first view of a store stays, and no other one comes next to it",
        every(
            (s, u, v),
            all_of(
                knows(s, u) >> After(knows(s, u)),
                (knows(s, u) & After(knows(s, v))) >> _ON_ONE_CHAIN,
            ),
        ),
        is_step=True,
    ),
    Claim(
        "latest_is_latest",
        "R2: a finished store that covers the newest chosen view, as the stores lie on the"
        " disks, has every committed frame",
        every(
            (s, v, y, n),
            all_of(
                chosen(v),
                every(w, (chosen(w) & upto(v, w)) >> same(v, w)),
                ~unfinished(s),
                _COVERS_AS_IT_LIES,
                upto(y, v),
                committed(y, n),
            )
            >> has(s, y, n),
        ),
    ),
)

LAYER = Layer(
    name="chain",
    about="views, data and updates: where each view starts, and what its members have",
    sorts=(SEAT, VIEW, NUMBER, COPY),
    relations=(
        upto,
        earlier,
        member,
        close,
        start,
        contains,
        chosen,
        knows,
        closed,
        reached,
        has,
        unfinished,
        told,
        told_not,
        kept,
    ),
    axioms={
        "views form a tree": is_forest_order(upto),
        "numbers are ordered": is_total_order(earlier),
    },
    steps=STEPS,
    conjuncts=CONJUNCTS,
    claims=CLAIMS,
    lively=some(
        (u, v, s, n),
        all_of(below(u, v), chosen(v), committed(u, n), is_ready(s, v), ~member(u, s)),
    ),
    assumes=(
        "a view has at most one chosen successor: the claim of the register, or an outside one",
        "equal positions are equal data (searched worlds watch `position_is_data`)",
        "an update brings a source's data whole, or it stays unfinished",
    ),
)
