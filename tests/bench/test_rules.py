import inspect
import pkgutil

import pytest
from benchmarks.rules import RULES


@pytest.mark.parametrize("rule", RULES)
def test_what_replaces_a_rule_takes_its_arguments(rule: str) -> None:
    for target, replacement in RULES[rule].items():
        expected = inspect.signature(pkgutil.resolve_name(target)).parameters.values()
        inspect.signature(replacement).bind(
            *(None for each in expected if each.kind is not each.KEYWORD_ONLY),
            **{each.name: None for each in expected if each.kind is each.KEYWORD_ONLY},
        )
