"""Worlds that ask a policy which store bootstraps, whether a node may start, or may be removed.

life.py      what happens to nodes and their disks, and what is claimed of the policy's answers
galera.py    files of Galera, as its nodes leave them
rabbitmq.py  files of RabbitMQ with Mnesia
built_in.py  policies in Python: `recover pick`, and seven that deployed programs have
"""
