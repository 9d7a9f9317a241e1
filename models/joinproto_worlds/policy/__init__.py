"""Worlds that ask a policy which node founds the cluster, and which may start or be removed.

life.py      what happens to nodes and their disks, and what is claimed of the policy's answers
galera.py    files of Galera, as its nodes leave them
rabbitmq.py  files of RabbitMQ with Mnesia
ours.py      stores of the join protocol
built_in.py  a policy in Python: `recover pick`
"""
