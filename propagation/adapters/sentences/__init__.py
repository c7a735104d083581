"""Sentence vectors of an ONNX model, computed on the CPU.

It needs the extra `sentences`. It downloads nothing and asks no server.
"""
