"""The two wheels, tried as an application and an operator get them: `python -m tests.wheels`."""
