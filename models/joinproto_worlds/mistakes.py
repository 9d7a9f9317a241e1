"""Descriptions of the mistakes that a world can have built in (`--mutant`)."""

from __future__ import annotations

from collections.abc import Mapping

_CLASSICS = {
    "one-vote-short": "The manager commits when all but one have voted yes.",
    "forgets-accepted": "A promise does not tell which vote its sender has accepted before.",
    "promise-not-kept": "A vote is accepted though its ballot is below the one promised.",
    "passes-all-on": "A candidate passes bids on that are smaller than its own, too.",
    "no-persist": "A vote is never written to disk, so a crash forgets it.",
    "answer-first": "A vote is sent before it is on the disk.",
    "stays-white": "A node that wakes one with a higher number does not turn black.",
}

_NOTE = {
    "without-I1": "Members start before N of them are there.",
    "without-I2": "Members start, or join, though their options differ.",
    "without-I4": "Stores of different clusters start together.",
    "without-I5": "Clean stores that stopped apart start together.",
    "without-I6": "Members start though none of them has a clean store.",
    "without-I7": "A member without a clean store starts without an update.",
    "without-J2": "A store of this cluster is refused as a wrong one.",
    "without-J3": "A store of another cluster is not refused.",
}

_CHOICE = {
    "ballots-not-persisted": "A ballot begins before its number is on the disk.",
    "promise-not-persisted": "An elector does not write down what it promised.",
    "accepted-not-honoured": "A proposer ignores the view that electors have accepted already.",
    "last-acceptance-binds": "The acceptance heard last binds, not that of the highest ballot.",
    "round-alone-binds": "Of two acceptances of one round, the proposers are not compared.",
    "stranger-votes": "Votes are counted by name, so one with a new disk counts.",
    "minority": "Half of the electors, rounded down, count as a majority.",
    "found-by-majority": "A majority of the configured electors founds, not all of them.",
    "found-with-too-few": "One elector fewer may found than the configuration lets.",
    "later-view-not-told": "A member that knows a view votes for a first one, too.",
    "status-does-not-freeze": "With an outside register, a member that answers does not freeze.",
}

_ANSWERS = {
    "held-derived": "Counts a store that stands where a view starts as ready in it.",
    "unfinished-counts": "A store whose update was cut off counts as if it were whole.",
    "tip-is-data": "A member that knows the newest view counts as ready in it.",
    "equal-number-covers": "As many frames as a view starts with count as the same frames.",
    "backup-believed": "A disk that was put back from a copy is believed.",
    "backup-answers": "Others count the answers of a disk that was put back.",
    "backup-goes-on": "A member whose disk was put back gets ready again by itself.",
    "backup-not-told": "A member that learns a view is not told that it has frames.",
}

_SUCCESSION = {
    "close-before-all-are-quiet": "The cluster closes before all members have answered.",
    "options-not-compared": "Options of members are not compared when a view is chosen.",
    "stale-source": "A restart takes its data from whichever store answers last.",
    "mark-chooses": "A restart takes its data from the marked store, whatever it lacks.",
    "n-forgotten": "Counts every view as one that was active, so N binds no more.",
    "change-after-total-failure": "After a total failure, having all data counts as permission.",
    "starts-where-nobody-stays": "A view may start with data that only leaving members have.",
    "leave-waits": "A leave waits where no store would stay, and all stay frozen.",
    "nobody-keeps-it": "A view follows although none of its members has a store.",
    "clean-or-nothing": "A closed cluster waits for a clean store, even when permission is given.",
    "left-to-the-absent": "A leave may make absent members a majority of the electors.",
    "apart-kept": "Members that do not hear each other are put into one view.",
}

_MEMBER = {
    "active-before-all-are-ready": "A member serves before the others in its view are ready.",
    "n-is-not-counted": "A member serves in a view of fewer than N.",
    "goes-on-after-a-restart": "A member that was restarted goes on in its view at once.",
    "frozen-goes-on": "A member that has answered a ballot serves on, and takes frames.",
    "reads-unconfirmed": "Reads are answered before others confirm that the view is current.",
    "heard-by-connection": "A connected member counts as in the view before it has said so.",
    "register-unnoted": "What the register says of a view's standing is forgotten at its CLOSE.",
    "serves-unheard": "A member that hears no majority of the electors serves on.",
    "ready-with-other-options": "A member gets ready in a view with other options than its own.",
    "dirty-not-written": "A RESTART is not written to disk, so a clean store stays clean.",
    "held-not-persisted": "That it was ready in the view is not written to disk.",
    "update-in-place": "An update overwrites the store without a mark that it has begun.",
    "unfit-before-the-first-byte": "A store counts as unfit from the request for an update on.",
    "joiner-marked-clean": "A member takes the position of a CLOSE, whatever frames it has.",
    "older-frame-accepted": "A frame of an earlier view is written in the present one.",
    "copy-taken-in": "A copy of another member's disk is taken in as a newcomer.",
    "replaced-not-noticed": "A member that came back with another store is not noticed.",
    "apart-taken-in": "A newcomer is taken in though it does not hear all members.",
}

_HOST = {
    "sends-before-persisting": "The host sends what relies on a record before writing it.",
    "disk-restored": "An old record is put back, which has forgotten what it promised.",
    "transient-keeps-its-id": "A member without a store keeps its store id when restarted.",
    "told-before-durable": "The host says that it has a frame before it is durable.",
    "acknowledged-early": "A frame is acknowledged when only most members have it.",
    "update-not-durable": "The record says that an update is done before its data is durable.",
    "feeds-more-than-it-says": "An update has more frames than the position sent with it says.",
    "electors-differ": "Each member's configuration names itself alone as elector.",
    "register-forgets": "The outside register takes a second successor of one view.",
}

_PICK = {
    "picks-the-highest": "Any position counts, also one of a view that was left behind.",
    "picks-without-members": "Missing members of the newest active view are not waited for.",
    "picks-without-electors": "Those whose stores are missing are taken not to have gone on.",
}

_CLUSTERER = {
    "older-wins": "The older of two configs wins.",
    "gospel-unchecked": "A config may name a gospel node that is none of its nodes.",
    "gospel-by-name": "A gospel node of the same name counts as the same data.",
    "everybody-leads": "Every waiting node takes itself for the one that goes first.",
    "ready-not-joined": "A node without data does not join one that is ready.",
    "ran-forgotten": "A node forgets which nodes still ran when it stopped.",
    "locks-always-granted": "A lock is granted though another node holds it.",
    "contacts-kept": "An ejected node keeps its contacts in the former cluster.",
    "waits-uninterrupted": "A waiting node ignores a younger config.",
    "conflict-merged": "Two contents of one version are not taken for a conflict.",
    "own-lock-first": "Each node takes its own lock first, and keeps it when refused.",
    "word-believed": "A node boots on an earlier answer without asking again.",
    "gospel-told-unasked": "A node that missed the gospel's arrival tells it of a config.",
    "paused-told": "A node takes a config while its broker is paused.",
    "paused-unready": "What a look at the broker saw counts after the node is ready no more.",
    "late-lock-kept": "A lock granted after its round was given up is kept.",
    "word-refused": "A node ready with the same data is refused where its identity is unknown.",
    "later-ignored": "A later word of a node about its data does not replace the first.",
    "left-out-stays": "A ready node that missed the config that left it out keeps its data.",
    "gospel-followed": "A node keeps its data though the gospel was left out, and has its own.",
    "leaving-forgotten": "A node that was left out, and is the gospel, does not say so.",
    "memory-believed": "What any ready node remembers of another counts before a later word.",
    "data-unnamed": "Identities do not say which set of data they speak of.",
}

_DISCOVERY = {
    "founds-alone": "One vote is enough to found a cluster.",
    "founds-again": "A node founds though a member of a cluster has answered.",
    "any-list": "A list with fewer nodes than expected is taken for whole.",
    "any-size": "More nodes than expected found what they like.",
}

_RECONCILE = {
    "stays-listed": "A dead member stays listed where enough others are there.",
    "drops-first": "A lost replica is dropped before another one is added.",
    "two-changes": "A change is accepted before the last one is committed.",
    "applies-alone": "The leader takes a change for committed before others have it.",
    "heard-again": "Any node that asks for a vote counts as a member.",
    "peer-file": "A start reads its peers from a file that removals leave unchanged.",
    "no-own-entry": "A leader changes members before an entry of its own term is committed.",
    "joint-by-one": "A joint change needs a majority of the new members only.",
    "drained-takes": "A node in maintenance is given a replica.",
    "settles-from-begin": "The time until a change is tried again is counted from its begin.",
    "unsynced": "What is written is not synced before the next effect.",
    "list-decides": "The broker's list decides the members, not the queue's leader.",
    "next-at-once": "The next change begins while a replica still catches up.",
    "without-leader": "While there is no leader, the broker's list is believed.",
    "no-limit": "Any number of copies is made at one time.",
    "quorum-queues-only": "Streams are not looked after.",
    "argument-is-a-pair": "The queue's argument counts as more than any number, as shipped.",
    "largest-counts": "Of argument, policy and configuration the largest counts, not the nearest.",
    "lost-at-once": "A replica counts as lost as soon as its node does not run.",
    "put-off": "Each event puts the next look off.",
}

_STANDBY = {
    "never-a-backup": "A broker that has everything is still taken to be catching up.",
    "no-generations": "A primary of an older generation is not refused.",
    "confirms-before-it-keeps": "A primary confirms before its own store keeps it.",
    "declares-before-it-keeps": "A declaration is confirmed before its own store keeps it.",
    "transfers-at-once": "A message is confirmed before the backups have it.",
    "acknowledges-at-once": "An acknowledgement is confirmed before the backups know of it.",
    "declares-at-once": "A declaration is confirmed before the backups have it.",
    "former-link-heard": "What comes on a connection counts though a newer one replaced it.",
    "drops-unrecorded": "That a backup was dropped is not recorded before the next confirmation.",
    "level-at-once": "A backup counts as up to date once it has asked.",
    "no-bindings": "Bindings are not mirrored.",
    "keeps-what-is-gone": "A backup keeps queues that the primary no longer has.",
    "wiring-unnumbered": "A snapshot of queues does not say which events are in it.",
    "copies-everything": "Queues that shall not be mirrored are mirrored, too.",
    "confirms-early": "A new primary confirms what missing backups lack, and records no drop.",
    "by-number": "What a backup has is told by numbers, not by identities.",
    "transactions-apart": "A transaction reaches a backup in parts.",
    "dirty-serves": "A broker with a dirty store may be promoted.",
    "empty-goes-on": "A store that was lost goes on, as it is in the last view.",
    "waits-for-a-person": "A store that is proven to be the last waits for a person.",
    "left-are-better": "A backup that the last primary left stands in that primary's way.",
    "stops-clean": "A broker stopped in order marks its store clean, whatever it has.",
    "lets-everybody-in": "A backup lets clients in.",
    "promotes-who-catches-up": "A broker that still catches up may be promoted.",
    "confirms-at-once": "A new primary waits for no backup before it confirms.",
}

_ZEN = {
    "half-is-enough": "Half of the nodes count as a quorum.",
    "founds-with-too-few": "Nodes found a cluster with those they found, however few.",
    "joins-after-restart": "A node counts joins though a restart made it forget starting the term.",
    "changes-unheard": "A leader changes to a configuration of which no quorum has joined it.",
    "commits-by-new-alone": "A commit needs a quorum of the new configuration alone.",
    "newer-joins": "A join of a node with newer state is counted.",
    "commits-former": "A leader takes a commit of a version that it published before.",
}

MISTAKES: Mapping[str, str] = {
    **_CLASSICS,
    **_NOTE,
    **_CHOICE,
    **_ANSWERS,
    **_SUCCESSION,
    **_MEMBER,
    **_HOST,
    **_PICK,
    **_CLUSTERER,
    **_DISCOVERY,
    **_RECONCILE,
    **_STANDBY,
    **_ZEN,
}
"""A sentence for each mutant; a name means the same in every world that has it."""
