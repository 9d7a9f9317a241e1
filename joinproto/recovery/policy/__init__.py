"""Another program's decision, put to the test: which store bootstraps, which node may start or go.

    question.py   what a policy is asked, as one line of JSON, and what it may answer
    program.py    the program that answers: any language, asked once for each distinct question
    serve.py      a Python file with functions, as such a program
    asked.py      what was asked in a search, and what follows from all answers together

A policy decides for an operator, or in his place: a script in a container's entry point, an
operator of Kubernetes, a playbook.  The worlds in `joinproto_worlds/policy` ask it at every moment
at which it can be asked, and follow its answers.
"""
