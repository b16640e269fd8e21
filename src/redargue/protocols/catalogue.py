"""Every method: importing this module registers them, one import line each."""

from __future__ import annotations

from redargue.protocols import dual_position as dual_position
from redargue.protocols import markov_debate as markov_debate
from redargue.protocols import mermaid as mermaid
from redargue.protocols import tool_mad as tool_mad
from redargue.protocols.baselines import best_of_n as best_of_n
from redargue.protocols.baselines import cfmad as cfmad
from redargue.protocols.baselines import factcheck_gpt as factcheck_gpt
from redargue.protocols.baselines import factool as factool
from redargue.protocols.baselines import fire as fire
from redargue.protocols.baselines import folk as folk
from redargue.protocols.baselines import halueval_few_shot as halueval_few_shot
from redargue.protocols.baselines import mad as mad
from redargue.protocols.baselines import madke as madke
from redargue.protocols.baselines import multi_agent_debate as multi_agent_debate
from redargue.protocols.baselines import nli as nli
from redargue.protocols.baselines import no_search as no_search
from redargue.protocols.baselines import one_reader as one_reader
from redargue.protocols.baselines import program_fc as program_fc
from redargue.protocols.baselines import react as react
from redargue.protocols.baselines import reconcile as reconcile
from redargue.protocols.baselines import safe as safe
from redargue.protocols.baselines import self_ask as self_ask
from redargue.protocols.baselines import self_check as self_check
from redargue.protocols.baselines import self_consistency as self_consistency
from redargue.protocols.baselines import zero_shot as zero_shot
from redargue.protocols.baselines import zero_shot_cot as zero_shot_cot
