"""Labelled replies: none is misread, and nearly all that a person can read are read."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from harness.judging.parsing.verdict import Reader, Reply
from harness.judging.prompts.requests import Unit
from harness.tasks import Item, Option, Task
