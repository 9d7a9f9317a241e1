"""Worlds that ask a policy which node founds the cluster, and which may start or be removed.

life.py      events of nodes and their disks, and claims about the policy's answers
galera.py    files of Galera, as its nodes leave them
rabbitmq.py  files of RabbitMQ with Mnesia
ours.py      stores of the join protocol
built_in.py  a policy in Python: `recover pick`
"""
