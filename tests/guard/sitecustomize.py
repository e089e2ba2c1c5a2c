"""Run by Python at start-up, in every process that a test starts."""

import loopback_only

loopback_only.watch()
