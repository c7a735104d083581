"""Centralised preference routing (RecNet 2.2).

One file for each step: attribute_extraction (eq. 1), initial_clustering (2.2.1), perception
(eq. 2), integration (eq. 3), multicast (eq. 4) with its threshold tau, and the routing table.
`policy.py` is the interface of a routing policy; adoption_policy and semantic_policy implement it.
"""
