"""Examples for prompts, with the labels of the claim's set."""

from __future__ import annotations

import re

from redargue.claims import LabelSet, Meaning
from redargue.methods.demonstrating import demonstrations


def examples_for(labels: LabelSet, name: str) -> str:
    """Demonstrations with the labels of a set in the slots ``{supported}`` and so on.

    Returns:
        Those of the file whose labels the set has; nothing for options and free text.
    """
    names = {str(meaning): label for meaning in Meaning if (label := labels.named(meaning))}
    examples = [each.strip() for each in demonstrations(name).split("\n\n") if each.strip()]
    fitting = [each for each in examples if set(_SLOT.findall(each)) <= set(names)]
    return "\n\n".join(_SLOT.sub(lambda found: names[found.group(1)], each) for each in fitting)


_SLOT = re.compile(r"\{(\w+)\}")
