"""The node that is marked safe_to_bootstrap founds, or else the one with the highest number.

A node whose own file has the mark founds the cluster by itself, as entry points of containers do.
"""


def choose_founder(facts):
    marked = [one["host"] for one in facts["stores"] if is_marked(one)]
    known = [one for one in facts["stores"] if one["seq"] is not None]
    if marked:
        return marked[0]
    return max(known, key=lambda one: one["seq"])["host"] if known else "wait"


def may_i_start(facts):
    return "found" if any(map(is_marked, facts["stores"])) else "wait"


def is_marked(store):
    return store["facts"].get("safe_to_bootstrap") == "1"
