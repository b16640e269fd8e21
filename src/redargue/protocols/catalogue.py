"""Every method: importing this module registers them, one import line each."""

from __future__ import annotations

from redargue.protocols import dual_position as dual_position
from redargue.protocols import markov_debate as markov_debate
from redargue.protocols import mermaid as mermaid
from redargue.protocols import tool_mad as tool_mad
from redargue.protocols.baselines import cfmad as cfmad
from redargue.protocols.baselines import mad as mad
from redargue.protocols.baselines import madke as madke
from redargue.protocols.baselines import multi_agent_debate as multi_agent_debate
from redargue.protocols.baselines import one_reader as one_reader
from redargue.protocols.baselines import reconcile as reconcile
