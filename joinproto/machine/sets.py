"""The note's sets of members: subsets of the members whose statuses one member knows.

Source: join-protocol note, "Define sets".  A, R and K are our names, for the note's words "active
member", "update done" and "the active members' initial signature".
"""

from joinproto.machine.terms import Members
from joinproto.machine.vocabulary import Status, Store

I = Members("I", Status)  # all the (initial) members
ME = I.me
MY_WAIT_FOR = I.mine("wait_for")

C = I.where(store=Store.CLEAN).named("C")  # members with a clean store
D = I.where(store=Store.DIRTY).named("D")  # members with a dirty store
E = I.where(store=Store.EMPTY).named("E")  # members with an empty store
T = I.where(store=Store.NONE).named("T")  # members without a store (transient)

A = I.where(active=True).named("A")  # active members
R = I.where(ready=True).named("R")  # members that have the state
K = (A - A.where(initial=None)).named("K")  # active members that know the initial signature
