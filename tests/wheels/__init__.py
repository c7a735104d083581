"""A trial of the two wheels: `python -m tests.wheels`.

They are installed as an application and as an operator would install them.
"""
