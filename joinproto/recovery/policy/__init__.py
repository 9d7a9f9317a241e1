"""Test policies.

A policy is a program that decides which store founds the cluster, which node may start, or which
node may be removed.

    question.py   the question to a policy (one line of JSON), and its possible answers
    program.py    runs the policy's program, in any language; asks each distinct question once
    serve.py      runs a Python file with functions as a policy
    asked.py      all questions of a search, and the verdict on all answers together
    real.py       asks a policy about real stores

A policy decides in place of a person.  It is a script in a container's entry point, a Kubernetes
operator (the program), or a playbook.  The worlds in `joinproto_worlds/policy` ask it at every
moment at which it can be asked, and follow its answers.
"""
