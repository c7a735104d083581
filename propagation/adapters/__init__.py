"""The ports' implementations, a folder a technology. They translate and decide nothing;
`tests/contract` says what they owe."""
