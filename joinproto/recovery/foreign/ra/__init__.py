"""Ra's files: the logs of RabbitMQ's quorum queues, and of its metadata store Khepri.

A node has one folder for each Ra system, with one log for each Raft group of which it is a member:

    quorum/NODE/  coordination/NODE/     queues; streams' coordinator and Khepri
        meta.dets                        of each log: term, vote, an index that was applied
        names.dets                       the log of each group; if a log is not named here,
                                         RabbitMQ starts its group with an empty log
        NUMBER.wal                       the newest entries of all logs          (`wal.py`)
        UID/config                       the group's name, this member, its first members
        UID/NUMBER.segment               entries that are in no write-ahead log  (`segment.py`)
        UID/snapshots/TERM_INDEX/        the state before these entries          (`snapshot.py`)

`log.py` makes one `GroupLog` for each group of these, `dets.py` reads the tables, and `window.py`
gives the bytes of huge files in pieces.  All these modules work on bytes, do no I/O, and raise only
`NotAsWritten`.  `folders.py` opens the files, `nodes.py` has the result for a node, and
`verdicts.py` compares the nodes, group by group.

Source: rabbitmq/ra 2.2.0 (RabbitMQ 3.10) to 3.1.10 (RabbitMQ 4.3), which write the same versions of
these files; OTP's `dets_v9`.  Seen on real nodes of 3.10.8, and of 4.0.5 and 4.3.6 with Khepri.
"""
