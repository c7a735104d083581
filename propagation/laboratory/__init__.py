"""The laboratory: methods of several papers, compared on the same targets.

`methods` learn a history and score candidates; `protocols` choose the targets and the candidates;
`experiments` are the papers' tables, and `runs` run and compare them.

Source:
    RecNet, AgentCF and AFL.
"""
