"""Test a policy, a program that decides which store founds the cluster, or which node may start.

    question.py   what a policy is asked, as one line of JSON, and what it may answer
    program.py    runs the policy's program, in any language; asks each distinct question once
    serve.py      such a program for a Python file with functions
    asked.py      all questions of a search, and what follows from all answers together
    real.py       asks a policy about real stores

A policy decides for an operator: it is a script in a container's entry point, an operator of
Kubernetes, or a playbook.  The worlds in `joinproto_worlds/policy` ask it at every moment at which
it can be asked, and follow its answers.
"""
