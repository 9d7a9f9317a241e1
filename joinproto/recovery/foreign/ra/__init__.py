"""Ra's files: the logs of RabbitMQ's quorum queues, and of its metadata store Khepri.

A node has one folder for each Ra system, and in it one log for each Raft group it is a member of:

    quorum/NODE/  coordination/NODE/     queues; streams' coordinator and Khepri
        meta.dets                        of each log: term, vote, an index that was applied
        names.dets                       which log belongs to a group; a log that is not named there
                                         is forgotten: RabbitMQ starts its group again, and empty
        NUMBER.wal                       the newest entries of all logs          (`wal.py`)
        UID/config                       the group's name, this member, its first members
        UID/NUMBER.segment               entries that are in no write-ahead log  (`segment.py`)
        UID/snapshots/TERM_INDEX/        what came before these                  (`snapshot.py`)

`log.py` puts them together into one `GroupLog` for each group, `dets.py` reads the tables, and
`window.py` gives the bytes of huge files in stretches.  All of these are functions from bytes, do
no I/O, and raise nothing but `NotAsWritten`.  `folders.py` opens the files, `nodes.py` has the
result for a node, and `table.py` compares the nodes, group by group.

Source: rabbitmq/ra 2.2.0 (RabbitMQ 3.10) to 3.1.10 (RabbitMQ 4.3), which write the same versions of
these files; OTP's `dets_v9`.  Seen on real nodes of 3.10.8, and of 4.0.5 and 4.3.6 with Khepri.
"""
