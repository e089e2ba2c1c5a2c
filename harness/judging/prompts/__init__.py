"""Prompt templates, requests and their keys."""
