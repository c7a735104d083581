"""The web page.

It is a client of the service, which knows only the public proto and its client.
"""
